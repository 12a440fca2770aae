// The hidden sizes that there are kernels for, and how wide a group of sequences is.
#pragma once

#include <array>
#include <atomic>
#include <stdexcept>

#include "recurrent/kernels/persistent/launch.h"

namespace rnnlab::kernels::persistent {

template <class Cell, class Numbers, int kHiddenSizeOf, int kWarpsOf, Fit kFitOf = Fit::kPadded>
struct Size {
  using Narrow = Tiles<Cell, Numbers, kHiddenSizeOf, kWarpsOf, 1, kFitOf>;
  using Wide = Tiles<Cell, Numbers, kHiddenSizeOf, kWarpsOf, 2, kFitOf>;
};

// Calls `use` with the smallest Size that has room. 8 warps and so 64 units a block, but for 768: its 16 blocks of 48
// units, rather than 12 of 64, have room for all weights of an LSTM. Whole fits of the most usual sizes: steps of 1 us
// become 6 % shorter.
template <class Cell, class Numbers, class Use>
void with_size(int64_t hidden_size, const Use& use) {
  if (hidden_size == 128) return use(Size<Cell, Numbers, 128, 8, Fit::kWhole>());
  if (hidden_size == 256) return use(Size<Cell, Numbers, 256, 8, Fit::kWhole>());
  if (hidden_size == 512) return use(Size<Cell, Numbers, 512, 8, Fit::kWhole>());
  if (hidden_size <= 64) return use(Size<Cell, Numbers, 64, 4>());
  if (hidden_size <= 128) return use(Size<Cell, Numbers, 128, 8>());
  if (hidden_size <= 192) return use(Size<Cell, Numbers, 192, 6>());
  if (hidden_size <= 256) return use(Size<Cell, Numbers, 256, 8>());
  if (hidden_size <= 384) return use(Size<Cell, Numbers, 384, 8>());
  if (hidden_size <= 512) return use(Size<Cell, Numbers, 512, 8>());
  if (hidden_size <= 640) return use(Size<Cell, Numbers, 640, 8>());
  if (hidden_size <= 768) return use(Size<Cell, Numbers, 768, 6>());
  if (hidden_size <= 896) return use(Size<Cell, Numbers, 896, 8>());
  if (hidden_size <= 1024) return use(Size<Cell, Numbers, 1024, 8>());
  throw std::invalid_argument("no persistent kernel for this hidden size");
}

// Groups of 16 sequences take about 1.6 times as long as groups of 8, of large layers 1.8 times, but may all fit at
// once.
template <class S>
bool takes_wide_groups(int64_t batch_size, int clusters_at_once) {
  constexpr double kTimes = S::Wide::kIsLarge ? 1.8 : 1.6;
  const auto rounds = [&](int64_t group_size) {
    const int64_t groups = (batch_size + group_size - 1) / group_size;
    return static_cast<double>((groups + clusters_at_once - 1) / clusters_at_once);
  };
  return kTimes * rounds(S::Wide::kSequences) < rounds(S::Narrow::kSequences);
}

// Asked once a device: it takes longer than a launch.
template <class T, class Work>
int clusters_on_this_device() {
  constexpr int kDevices = 64;
  static std::array<std::atomic<int>, kDevices> known = {};
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  std::atomic<int>& clusters = known.at(static_cast<size_t>(device));
  if (clusters == 0) clusters = clusters_at_once<T, Work>();
  return clusters;
}

template <class Cell, class Numbers, class Work>
void run_as(const Work& work, cudaStream_t stream) {
  with_size<Cell, Numbers>(work.sequence.hidden_size, [&]<class S>(const S&) {
    const int clusters = clusters_on_this_device<typename S::Narrow, Work>();
    if (takes_wide_groups<S>(work.sequence.batch_size, clusters))
      launch<typename S::Wide>(work, stream);
    else
      launch<typename S::Narrow>(work, stream);
  });
}

// Weights are packed alike for narrow and wide groups.
template <class Cell, class Numbers>
void pack_forward_as(const PersistentSequence& sequence, const void* weights, void* packed, cudaStream_t stream) {
  with_size<Cell, Numbers>(sequence.hidden_size, [&]<class S>(const S&) {
    launch_pack<typename S::Narrow, ForwardOrder>(sequence, weights, packed, stream);
  });
}

template <class Cell, class Numbers>
void pack_backward_as(const PersistentSequence& sequence, const void* weights, void* packed, cudaStream_t stream) {
  with_size<Cell, Numbers>(sequence.hidden_size, [&]<class S>(const S&) {
    launch_pack<typename S::Narrow, BackwardOrder>(sequence, weights, packed, stream);
  });
}

// Compiled by cell and class of numbers, in sources of their own (instance.cu.in).
#define RNNLAB_PERSISTENT_OF(prefix, Cell, Numbers)                                                                 \
  prefix template void run_as<Cell, Numbers, PersistentForward>(const PersistentForward&, cudaStream_t);            \
  prefix template void run_as<Cell, Numbers, PersistentBackward>(const PersistentBackward&, cudaStream_t);          \
  prefix template void pack_forward_as<Cell, Numbers>(const PersistentSequence&, const void*, void*, cudaStream_t); \
  prefix template void pack_backward_as<Cell, Numbers>(const PersistentSequence&, const void*, void*, cudaStream_t)

}  // namespace rnnlab::kernels::persistent
