// The hidden sizes that there are grid kernels for, and which passes take one instead of clusters.
#pragma once

#include <vector>

#include "recurrent/kernels/persistent/grid_tiles.h"
#include "recurrent/kernels/persistent/kernel_plan.h"
#include "recurrent/kernels/persistent/plan_names.h"

namespace rnnlab::kernels::persistent {

// Whether a layer gains by blocks of 16 units: an LSTM of 648 to 768 units for up to 32 sequences, two groups, which
// fit at once; an LSTM or a GRU of 776 to 1024 units for up to 16, one group, which leaves half of the GPU.
template <class Cell>
bool gains_by_small_blocks(const PersistentSequence& sequence) {
  if (Cell::kGates == 4 && sequence.hidden_size > 640 && sequence.hidden_size <= 768) return sequence.batch_size <= 32;
  return Cell::kGates >= 3 && sequence.hidden_size > 768 && sequence.hidden_size <= 1024 && sequence.batch_size <= 16;
}

// Whether an LSTM of 392 to 512 units has as many sequences as one round has room for, 8 groups of blocks of 32 units
// or 16 of blocks of 64, and clusters would take another round for the last of them: 15 of them run at once, of 8 or of
// 16 sequences.
template <class Cell>
bool fills_a_round(const PersistentSequence& sequence) {
  if (Cell::kGates != 4 || sequence.hidden_size <= 384 || sequence.hidden_size > 512) return false;
  return (sequence.batch_size > 120 && sequence.batch_size <= 128) ||
         (sequence.batch_size > 240 && sequence.batch_size <= 256);
}

// Clusters are faster where one round of them has all sequences, in groups of 8, and weights find room: up to 768
// units, or 1024 of a plain cell.
template <class Cell>
bool is_for_grids(const PersistentSequence& sequence) {
  if (sequence.kernels != PersistentKernels::kAll) return false;
  constexpr int64_t kSequencesOfARound = 56;
  constexpr int64_t kRoomOfClusters = Cell::kGates == 1 ? 1024 : 768;
  if (sequence.hidden_size > kRoomOfClusters || gains_by_small_blocks<Cell>(sequence)) return true;
  if (fills_a_round<Cell>(sequence)) return true;
  return sequence.hidden_size > 512 && sequence.batch_size > kSequencesOfARound;
}

// Those of the smallest size that has room for a layer that is_for_grids.
template <class Cell, class Numbers>
class GridPlans {
 public:
  GridPlans(const PersistentSequence& sequence, PassKind pass) : pass_(pass) { add_size(sequence); }

  std::vector<KernelPlan> take() { return std::move(plans_); }

 private:
  void add_size(const PersistentSequence& sequence) {
    if constexpr (Cell::kGates == 4)
      if (gains_by_small_blocks<Cell>(sequence) && sequence.hidden_size <= 768) return add<768, 16, 2>();
    if constexpr (Cell::kGates >= 3)
      if (gains_by_small_blocks<Cell>(sequence)) return add<1024, 16, 2>();
    if constexpr (Cell::kGates == 4)
      if (sequence.hidden_size <= 512) return sequence.batch_size <= 128 ? add<512, 32, 2>() : add<512, 64, 2>();
    if (sequence.hidden_size <= 768) return add_group_sizes<768, 32, 2>();
    if (sequence.hidden_size <= 1024) return add_group_sizes<1024, 32, 2>();
    if (sequence.hidden_size <= kLargestOfGrids) return add_group_sizes<kLargestOfGrids, 16, 4>();
  }

  // For groups of 16 sequences, of 32, or of two times 32. Costs are as measured on an H200.
  template <int kHiddenSize, int kUnits, int kPartners>
  void add_group_sizes() {
    add<kHiddenSize, kUnits, kPartners>();
    add<kHiddenSize, kUnits, kPartners, 4>(1.5);
    add<kHiddenSize, kUnits, kPartners, 4, 2>(2.7);
  }

  template <int kHiddenSize, int kUnits, int kPartners, int kTiles = 2, int kTurns = 1>
  void add(double cost = 1) {
    using T = GridTiles<Cell, Numbers, kHiddenSize, kUnits, kPartners, kTiles, kTurns>;
    const std::string tiles = fmt::format("GridTiles<{}, {}, {}, {}, {}, {}, {}>", name_of_cell<Cell>(),
                                          name_of_numbers<Numbers>(), kHiddenSize, kUnits, kPartners, kTiles, kTurns);
    KernelPlan plan = pass_ == PassKind::kForward ? forward<T>(tiles) : backward<T>(tiles);
    plan.instructions = Instructions::kWgmma;
    plan.num_sequences = T::kSequencesOfGroup;
    plan.num_blocks = T::kBlocks;
    plan.num_threads = T::kThreads;
    plan.counted_shared_bytes = plan.shared_bytes;
    plan.cost = cost;
    plans_.push_back(plan);
  }

  template <class T>
  static KernelPlan forward(const std::string& tiles) {
    return {.source = source_including(header_of_cell<Cell>(), "grid_forward.h", "grid_pack.h"),
            .kernel = fmt::format("grid_forward_kernel<{}>", tiles),
            .packing = fmt::format("grid_pack_kernel<{}, GridForwardOrder>", tiles),
            .cluster_size = 1,
            .shared_bytes = T::ForwardSlice::kSharedBytesOfAll,
            .packed_bytes = packed_bytes<T, typename T::ForwardSlice>(),
            .exchange_bytes = T::kForwardExchangeBytes,
            .empty_byte = 0xFF};  // kNothing
  }

  template <class T>
  static KernelPlan backward(const std::string& tiles) {
    return {.source = source_including(header_of_cell<Cell>(), "grid_backward.h", "grid_pack.h"),
            .kernel = fmt::format("grid_backward_kernel<{}>", tiles),
            .packing = fmt::format("grid_pack_kernel<{}, GridBackwardOrder>", tiles),
            .cluster_size = T::kPartners,
            .shared_bytes = T::BackwardSlice::kSharedBytesOfAll,
            .packed_bytes = packed_bytes<T, typename T::BackwardSlice>(),
            .exchange_bytes = T::kBackwardExchangeBytes,
            .empty_byte = 0};  // not the phase of the first sums
  }

  template <class T, class Slice>
  static constexpr size_t packed_bytes() {
    return size_t{kFragmentBytesPerWarp} * T::kBlocks * T::kWarps * Slice::kFragments;
  }

  PassKind pass_;
  std::vector<KernelPlan> plans_;
};

}  // namespace rnnlab::kernels::persistent
