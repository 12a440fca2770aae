// The hidden sizes that there are kernels for, and which of a size's kernels is the fastest for a batch.
#pragma once

#include <stdexcept>

#include "recurrent/kernels/persistent/cheapest.h"
#include "recurrent/kernels/persistent/launch.h"
#include "recurrent/kernels/persistent/per_device.h"

namespace rnnlab::kernels::persistent {

// A kernel of a size. kPercent: the time that a step takes, of what it takes with 8 sequences and one team. Groups that
// do not fit at once take turns; what counts as fitting is up to kSharing. kSince: the first of PersistentKernels to
// have it.
template <class TilesOf, int kPercentOf, PersistentKernels kSinceOf = PersistentKernels::kClusters,
          SharingOfSms kSharingOf = SharingOfSms::kAllowed>
struct Way {
  using T = TilesOf;
  static constexpr int kPercent = kPercentOf;
  static constexpr PersistentKernels kSince = kSinceOf;
  static constexpr SharingOfSms kSharing = kSharingOf;
};

template <class... Ways>
struct Choice {};

template <int kHiddenSize>
constexpr int kWidePercent = kHiddenSize > 768 ? 180 : 165;

// Groups of 8 and of 16 sequences.
template <class Cell, class Numbers, int kHiddenSize, int kWarps, Fit kFit = Fit::kPadded, class... Others>
using Usual = Choice<Way<Tiles<Cell, Numbers, kHiddenSize, kWarps, 1, kFit>, 100>,
                     Way<Tiles<Cell, Numbers, kHiddenSize, kWarps, 2, kFit>, kWidePercent<kHiddenSize>>, Others...>;

// And blocks of 4 warps, for groups of which each finds SMs of its own.
template <class Cell, class Numbers, int kHiddenSize, int kWarps, Fit kFit = Fit::kPadded>
using OrSpread = Usual<
    Cell, Numbers, kHiddenSize, kWarps, kFit,
    Way<Tiles<Cell, Numbers, kHiddenSize, 4, 1, kFit>, 80, PersistentKernels::kClustersAndTeams, SharingOfSms::kNone>>;

// Or two teams, where all weights of an LSTM fit into registers that way; a GRU gains nothing.
template <class Cell, class Numbers, int kHiddenSize, Fit kFit = Fit::kPadded>
using OrTeams = std::conditional_t<
    Cell::kGates == 4 && Numbers::kParts == 1,
    Usual<Cell, Numbers, kHiddenSize, 8, kFit,
          Way<Tiles<Cell, Numbers, kHiddenSize, 8, 1, kFit, 2>, 82, PersistentKernels::kClustersAndTeams>>,
    OrSpread<Cell, Numbers, kHiddenSize, 8, kFit>>;

// Calls `use` with the Choice of the smallest size that has room. 8 warps and so 64 units a block, but for 128 and
// below, where the load of 4 warps a block is shared by more SMs, 192, which has 6 warps, and 768: its 16 blocks of 48
// units, rather than 12 of 64, have room for all weights of an LSTM. Whole fits of the most usual sizes: steps of 1 us
// become 6 % shorter.
template <class Cell, class Numbers, class Use>
void with_size(int64_t hidden_size, const Use& use) {
  if (hidden_size == 128) return use(Usual<Cell, Numbers, 128, 4, Fit::kWhole>());
  if (hidden_size == 256) return use(OrSpread<Cell, Numbers, 256, 8, Fit::kWhole>());
  if (hidden_size == 512) return use(OrTeams<Cell, Numbers, 512, Fit::kWhole>());
  if (hidden_size <= 64) return use(Usual<Cell, Numbers, 64, 4>());
  if (hidden_size <= 128) return use(Usual<Cell, Numbers, 128, 4>());
  if (hidden_size <= 192) return use(OrSpread<Cell, Numbers, 192, 6>());
  if (hidden_size <= 256) return use(OrSpread<Cell, Numbers, 256, 8>());
  if (hidden_size <= 384) return use(OrSpread<Cell, Numbers, 384, 8>());
  if (hidden_size <= 512) return use(OrTeams<Cell, Numbers, 512>());
  if (hidden_size <= 640) return use(Usual<Cell, Numbers, 640, 8>());
  if (hidden_size <= 768) return use(Usual<Cell, Numbers, 768, 6>());
  if (hidden_size <= 896) return use(Usual<Cell, Numbers, 896, 8>());
  if (hidden_size <= 1024) return use(Usual<Cell, Numbers, 1024, 8>());
  throw std::invalid_argument("no persistent kernel for this hidden size");
}

template <class Way, class Work>
int clusters_on_this_device() {
  static PerDevice known;
  return known.get([] { return clusters_at_once<typename Way::T, Work, Way::kSharing>(); });
}

template <class Way, class Work>
double cost_of(const PersistentSequence& sequence) {
  if (Way::kSince > sequence.kernels) return kIsNotThere;
  const int64_t groups = (sequence.batch_size + Way::T::kSequences - 1) / Way::T::kSequences;
  const int64_t clusters = clusters_on_this_device<Way, Work>();
  return clusters == 0 ? kIsNotThere : static_cast<double>(Way::kPercent * ((groups + clusters - 1) / clusters));
}

// Calls `use` with the tiles of the kernel that such a pass takes: its weights are packed for the same ones.
template <class Work, class Use, class... Ways>
void with_fastest(Choice<Ways...>, const PersistentSequence& sequence, const Use& use) {
  with_cheapest<Ways...>({cost_of<Ways, Work>(sequence)...}, [&]<class Way>(Way, double cost) {
    if (cost == kIsNotThere)
      throw std::runtime_error("layer: persistent: no cluster of blocks fits on this GPU; use layer: cudnn");
    use(typename Way::T());
  });
}

template <class Cell, class Numbers, class Work, class Use>
void with_tiles(const PersistentSequence& sequence, const Use& use) {
  with_size<Cell, Numbers>(sequence.hidden_size, [&](auto choice) { with_fastest<Work>(choice, sequence, use); });
}

template <class Cell, class Numbers, class Work>
void run_as(const Work& work, cudaStream_t stream) {
  with_tiles<Cell, Numbers, Work>(work.sequence, [&]<class T>(T) { launch<T>(work, stream); });
}

template <class Cell, class Numbers, class Work>
PersistentGroups clusters_as(const PersistentSequence& sequence) {
  PersistentGroups clusters;
  with_tiles<Cell, Numbers, Work>(sequence, [&]<class T>(T) {
    using Alone = Way<T, 100, PersistentKernels::kClusters, SharingOfSms::kNone>;
    clusters = {.count = (sequence.batch_size + T::kSequences - 1) / T::kSequences,
                .num_blocks = T::kBlocks,
                .at_once = clusters_on_this_device<Alone, Work>()};
  });
  return clusters;
}

template <class Cell, class Numbers>
void pack_forward_as(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                     cudaStream_t stream) {
  with_tiles<Cell, Numbers, PersistentForward>(
      sequence, [&]<class T>(T) { launch_pack<T, ForwardOrder>(sequence, weights, packed, stream); });
}

template <class Cell, class Numbers>
void pack_backward_as(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                      cudaStream_t stream) {
  with_tiles<Cell, Numbers, PersistentBackward>(
      sequence, [&]<class T>(T) { launch_pack<T, BackwardOrder>(sequence, weights, packed, stream); });
}

// Compiled by cell and class of numbers, in sources of their own (instance.cu.in).
#define RNNLAB_PERSISTENT_OF(prefix, Cell, Numbers)                                                               \
  prefix template void run_as<Cell, Numbers, PersistentForward>(const PersistentForward&, cudaStream_t);          \
  prefix template void run_as<Cell, Numbers, PersistentBackward>(const PersistentBackward&, cudaStream_t);        \
  prefix template PersistentGroups clusters_as<Cell, Numbers, PersistentForward>(const PersistentSequence&);      \
  prefix template PersistentGroups clusters_as<Cell, Numbers, PersistentBackward>(const PersistentSequence&);     \
  prefix template void pack_forward_as<Cell, Numbers>(const PersistentSequence&, const RecurrentWeights&, void*,  \
                                                      cudaStream_t);                                              \
  prefix template void pack_backward_as<Cell, Numbers>(const PersistentSequence&, const RecurrentWeights&, void*, \
                                                       cudaStream_t)

}  // namespace rnnlab::kernels::persistent
