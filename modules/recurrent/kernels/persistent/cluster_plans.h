// The hidden sizes that there are cluster kernels for.
#pragma once

#include <vector>

#include "recurrent/kernels/persistent/kernel_plan.h"
#include "recurrent/kernels/persistent/plan_names.h"
#include "recurrent/kernels/persistent/tiles.h"

namespace rnnlab::kernels::persistent {

// Whether two blocks may run on one SM.
enum class SharingOfSms { kAllowed, kNone };

// percent: the time that a step takes, of what it takes with 8 sequences and one team. since: the first of
// PersistentKernels to have it.
struct Way {
  int percent = 100;
  PersistentKernels since = PersistentKernels::kClusters;
  SharingOfSms sharing = SharingOfSms::kAllowed;
};

// The plans of the smallest size that has room for a layer, of which the fastest depends on the batch and the GPU.
template <class Cell, class Numbers, int kShared>
class ClusterPlans {
 public:
  ClusterPlans(const PersistentSequence& sequence, PassKind pass) : sequence_(sequence), pass_(pass) {
    add_size(sequence.hidden_size);
  }

  std::vector<KernelPlan> take() { return std::move(plans_); }

 private:
  template <int kHiddenSize, int kWarps, int kTiles, Fit kFit, int kTeams = 1>
  using TilesOf = Tiles<Cell, Numbers, kHiddenSize, kWarps, kTiles, kFit, kTeams, kShared>;

  // 8 warps and so 64 units a block, but for 128 and below, where the load of 4 warps a block is shared by more SMs,
  // 192, which has 6 warps, and 768: its 16 blocks of 48 units, rather than 12 of 64, have room for all weights of an
  // LSTM. Whole fits of the most usual sizes: steps of 1 us become 6 % shorter.
  void add_size(int64_t hidden_size) {
    if (hidden_size == 128) return add_usual<128, 4, Fit::kWhole>();
    if (hidden_size == 256) return add_or_spread<256, 8, Fit::kWhole>();
    if (hidden_size == 512) return add_or_teams<512, Fit::kWhole>();
    if (hidden_size <= 64) return add_usual<64, 4>();
    if (hidden_size <= 128) return add_usual<128, 4>();
    if (hidden_size <= 192) return add_or_spread<192, 6>();
    if (hidden_size <= 256) return add_or_spread<256, 8>();
    if (hidden_size <= 384) return add_or_spread<384, 8>();
    if (hidden_size <= 512) return add_or_teams<512>();
    if (hidden_size <= 640) return add_usual<640, 8>();
    if (hidden_size <= 768) return add_usual<768, 6>();
    if (hidden_size <= 896) return add_usual<896, 8>();
    if (hidden_size <= kLargestOfClusters) return add_usual<kLargestOfClusters, 8>();
  }

  // Groups of 8 and of 16 sequences.
  template <int kHiddenSize, int kWarps, Fit kFit = Fit::kPadded>
  void add_usual() {
    constexpr int kWidePercent = kHiddenSize > 768 ? 180 : 165;
    add<TilesOf<kHiddenSize, kWarps, 1, kFit>>({});
    add<TilesOf<kHiddenSize, kWarps, 2, kFit>>({.percent = kWidePercent});
  }

  // And blocks of 4 warps, for groups of which each finds SMs of its own.
  template <int kHiddenSize, int kWarps, Fit kFit = Fit::kPadded>
  void add_or_spread() {
    add_usual<kHiddenSize, kWarps, kFit>();
    add<TilesOf<kHiddenSize, 4, 1, kFit>>(
        {.percent = 80, .since = PersistentKernels::kClustersAndTeams, .sharing = SharingOfSms::kNone});
  }

  // Or two teams, where all weights of an LSTM fit into registers that way; a GRU gains nothing.
  template <int kHiddenSize, Fit kFit = Fit::kPadded>
  void add_or_teams() {
    if constexpr (Cell::kGates == 4 && Numbers::kParts == 1) {
      add_usual<kHiddenSize, 8, kFit>();
      add<TilesOf<kHiddenSize, 8, 1, kFit, 2>>({.percent = 82, .since = PersistentKernels::kClustersAndTeams});
    } else {
      add_or_spread<kHiddenSize, 8, kFit>();
    }
  }

  template <class T>
  void add(const Way& way) {
    if (way.since > sequence_.kernels) return;
    const bool is_forward = pass_ == PassKind::kForward;
    const int shared_bytes = is_forward ? T::ForwardSlice::kSharedBytesOfAll : T::BackwardSlice::kSharedBytesOfAll;
    if (shared_bytes > kShared - kOtherSharedBytes) return;
    static_assert(T::ForwardSlice::kFragments == T::BackwardSlice::kFragments);
    const std::string name = fmt::format(
        "{}_kernel<{}>", T::kTeams == 1 ? direction() : fmt::format("team_{}", direction()), name_of_tiles<T>());
    plans_.push_back({
        .source = source_including(header_of_cell<Cell>(), kernel_header(T::kTeams), "pack.h"),
        .kernel = name,
        .packing = fmt::format("pack_kernel<{}, {}Order>", name_of_tiles<T>(), is_forward ? "Forward" : "Backward"),
        .num_sequences = T::kSequences,
        .num_blocks = T::kBlocks,
        .cluster_size = T::kBlocks,
        .num_threads = T::kThreads,
        .shared_bytes = shared_bytes,
        .counted_shared_bytes =
            way.sharing == SharingOfSms::kAllowed ? shared_bytes : T::kSharedBytes - kOtherSharedBytes,
        .packed_bytes = size_t{kFragmentBytesPerWarp} * T::kBlocks * T::kWarps * T::ForwardSlice::kFragments,
        .cost = static_cast<double>(way.percent),
    });
  }

  std::string direction() const { return pass_ == PassKind::kForward ? "forward" : "backward"; }

  const char* kernel_header(int teams) const {
    if (teams > 1) return pass_ == PassKind::kForward ? "team_forward.h" : "team_backward.h";
    return pass_ == PassKind::kForward ? "forward_kernel.h" : "backward_kernel.h";
  }

  template <class T>
  static std::string name_of_tiles() {
    return fmt::format("Tiles<{}, {}, {}, {}, {}, Fit::{}, {}, {}>", name_of_cell<Cell>(), name_of_numbers<Numbers>(),
                       T::kHiddenSize, T::kWarps, T::kTiles, T::kFit == Fit::kWhole ? "kWhole" : "kPadded", T::kTeams,
                       T::kSharedBytes);
  }

  const PersistentSequence& sequence_;
  PassKind pass_;
  std::vector<KernelPlan> plans_;
};

}  // namespace rnnlab::kernels::persistent
