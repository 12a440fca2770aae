// The hidden sizes that there are grid kernels for, and which passes take one instead of clusters.
#pragma once

#include <stdexcept>
#include <string>

#include "recurrent/kernels/persistent/cheapest.h"
#include "recurrent/kernels/persistent/grid_launch.h"
#include "recurrent/kernels/persistent/per_device.h"

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

template <class T, class Work>
int groups_on_this_device() {
  static PerDevice known;
  return known.get([] { return groups_at_once<T, Work>(); });
}

// What a step takes of what it takes with groups of 16 sequences, as measured on an H200.
template <class T>
constexpr double kCostOfStep = T::kTurns == 2 ? 2.7 : (T::kTiles == 4 ? 1.5 : 1);

// Of all rounds of groups.
template <class T, class Work>
double cost_of_rounds(const PersistentSequence& sequence) {
  const int at_once = groups_on_this_device<T, Work>();
  return at_once == 0 ? kIsNotThere : (groups_of<T>(sequence) + at_once - 1) / at_once * kCostOfStep<T>;
}

// The GridTiles of a layer's size: for groups of 16 sequences, of 32, or of two times 32.
template <class Cell, class Numbers, class Work, int kHiddenSize, int kUnits, int kPartners, class Use>
void with_group_size(const PersistentSequence& sequence, const Use& use) {
  using Of16 = GridTiles<Cell, Numbers, kHiddenSize, kUnits, kPartners>;
  using Of32 = GridTiles<Cell, Numbers, kHiddenSize, kUnits, kPartners, 4>;
  using OfTwice32 = GridTiles<Cell, Numbers, kHiddenSize, kUnits, kPartners, 4, 2>;
  with_cheapest<Of16, Of32, OfTwice32>({cost_of_rounds<Of16, Work>(sequence), cost_of_rounds<Of32, Work>(sequence),
                                        cost_of_rounds<OfTwice32, Work>(sequence)},
                                       [&](const auto& tiles, double) { use(tiles); });
}

// Calls `use` with the GridTiles for such a layer: of the smallest size that has room, those that are done first.
template <class Cell, class Numbers, class Work, class Use>
void with_grid_size(const PersistentSequence& sequence, const Use& use) {
  if constexpr (Cell::kGates == 4)
    if (gains_by_small_blocks<Cell>(sequence) && sequence.hidden_size <= 768)
      return use(GridTiles<Cell, Numbers, 768, 16, 2>());
  if constexpr (Cell::kGates >= 3)
    if (gains_by_small_blocks<Cell>(sequence)) return use(GridTiles<Cell, Numbers, 1024, 16, 2>());
  if constexpr (Cell::kGates == 4)
    if (sequence.hidden_size <= 512) {
      if (sequence.batch_size <= 128) return use(GridTiles<Cell, Numbers, 512, 32, 2>());
      return use(GridTiles<Cell, Numbers, 512, 64, 2>());
    }
  if (sequence.hidden_size <= 768) return with_group_size<Cell, Numbers, Work, 768, 32, 2>(sequence, use);
  if (sequence.hidden_size <= 1024) return with_group_size<Cell, Numbers, Work, 1024, 32, 2>(sequence, use);
  if (sequence.hidden_size <= kLargestOfGrids)
    return with_group_size<Cell, Numbers, Work, kLargestOfGrids, 16, 4>(sequence, use);
  throw std::invalid_argument("no persistent kernel for this hidden size");
}

// The passes of one kind by grid kernels. Work: PersistentForward or PersistentBackward.
template <class Cell, class Numbers, class Work>
struct Grid {
  // Whether this pass is for a grid kernel: by size and batch, where the device has room for a group.
  static bool takes(const PersistentSequence& sequence);

  static size_t packed_bytes(const PersistentSequence& sequence);
  static size_t exchange_bytes(const PersistentSequence& sequence);
  static void pack(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                   cudaStream_t stream);
  static void run(const Work& work, cudaStream_t stream);
  static PersistentGroups groups(const PersistentSequence& sequence);

 private:
  static constexpr bool kIsForward = std::is_same_v<Work, PersistentForward>;
};

template <class Cell, class Numbers, class Work>
bool Grid<Cell, Numbers, Work>::takes(const PersistentSequence& sequence) {
  if (!is_for_grids<Cell>(sequence)) return false;
  int room = 0, blocks = 0;
  with_grid_size<Cell, Numbers, Work>(sequence, [&]<class T>(const T&) {
    room = groups_on_this_device<T, Work>();
    blocks = T::kBlocks;
  });
  if (room == 0 && sequence.hidden_size > kLargestOfClusters)
    throw std::runtime_error("layer: persistent: hidden_size: " + std::to_string(sequence.hidden_size) + " takes " +
                             std::to_string(blocks) +
                             " multiprocessors at once, and this GPU does not have them; use layer: cudnn");
  return room > 0;
}

template <class Cell, class Numbers, class Work>
size_t Grid<Cell, Numbers, Work>::packed_bytes(const PersistentSequence& sequence) {
  size_t bytes = 0;
  with_grid_size<Cell, Numbers, Work>(sequence, [&]<class T>(const T&) { bytes = grid_packed_bytes<T, Work>(); });
  return bytes;
}

template <class Cell, class Numbers, class Work>
size_t Grid<Cell, Numbers, Work>::exchange_bytes(const PersistentSequence& sequence) {
  size_t bytes = 0;
  with_grid_size<Cell, Numbers, Work>(sequence, [&]<class T>(const T&) {
    bytes = static_cast<size_t>(std::min(groups_of<T>(sequence), groups_on_this_device<T, Work>())) *
            GridPass<T, Work>::kExchangeBytes;
  });
  return bytes;
}

template <class Cell, class Numbers, class Work>
void Grid<Cell, Numbers, Work>::pack(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                                     cudaStream_t stream) {
  with_grid_size<Cell, Numbers, Work>(sequence, [&]<class T>(const T&) {
    if constexpr (kIsForward)
      launch_grid_pack<T, GridForwardOrder>(sequence, weights, packed, stream);
    else
      launch_grid_pack<T, GridBackwardOrder>(sequence, weights, packed, stream);
  });
}

template <class Cell, class Numbers, class Work>
void Grid<Cell, Numbers, Work>::run(const Work& work, cudaStream_t stream) {
  with_grid_size<Cell, Numbers, Work>(
      work.sequence, [&]<class T>(const T&) { launch_grid<T>(work, groups_on_this_device<T, Work>(), stream); });
}

template <class Cell, class Numbers, class Work>
PersistentGroups Grid<Cell, Numbers, Work>::groups(const PersistentSequence& sequence) {
  PersistentGroups groups;
  with_grid_size<Cell, Numbers, Work>(sequence, [&]<class T>(const T&) {
    groups = {.count = groups_of<T>(sequence),
              .num_blocks = T::kBlocks,
              .at_once = groups_on_this_device<T, Work>(),
              .are_clusters = false};
  });
  return groups;
}

}  // namespace rnnlab::kernels::persistent
