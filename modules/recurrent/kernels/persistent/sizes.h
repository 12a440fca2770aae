// The hidden sizes that there are kernels for, and how wide a group of sequences is.
#pragma once

#include <array>
#include <atomic>
#include <stdexcept>

#include "recurrent/kernels/persistent/launch.h"

namespace rnnlab::kernels::persistent {

template <int kHiddenSizeOf, int kWarpsOf>
struct Size {
  using Narrow = Tiles<kHiddenSizeOf, kWarpsOf, 1>;
  using Wide = Tiles<kHiddenSizeOf, kWarpsOf, 2>;
};

// Calls `use` with the Size. 8 warps and so 64 units a block, but for 768: its 16 blocks of 48 units, rather than 12 of
// 64, have room for all weights.
template <class Use>
void with_size(int64_t hidden_size, const Use& use) {
  switch (hidden_size) {
    case 128:
      return use(Size<128, 8>());
    case 256:
      return use(Size<256, 8>());
    case 384:
      return use(Size<384, 8>());
    case 512:
      return use(Size<512, 8>());
    case 640:
      return use(Size<640, 8>());
    case 768:
      return use(Size<768, 6>());
    case 896:
      return use(Size<896, 8>());
    case 1024:
      return use(Size<1024, 8>());
    default:
      throw std::invalid_argument("no persistent kernel for this hidden size");
  }
}

// Groups of 16 sequences take about 1.6 times as long as groups of 8, but may all fit at once.
template <class S>
bool takes_wide_groups(int64_t batch_size, int clusters_at_once) {
  const auto rounds = [&](int64_t group_size) {
    const int64_t groups = (batch_size + group_size - 1) / group_size;
    return static_cast<double>((groups + clusters_at_once - 1) / clusters_at_once);
  };
  return 1.6 * rounds(S::Wide::kSequences) < rounds(S::Narrow::kSequences);
}

// Asked once a device: it takes longer than a launch.
template <class T, class Value, class Work>
int clusters_on_this_device() {
  constexpr int kDevices = 64;
  static std::array<std::atomic<int>, kDevices> known = {};
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  std::atomic<int>& clusters = known.at(static_cast<size_t>(device));
  if (clusters == 0) clusters = clusters_at_once<T, Value, Work>();
  return clusters;
}

template <class Value, class Work>
void run_as(const Work& work, cudaStream_t stream) {
  with_size(work.sequence.hidden_size, [&]<class S>(const S&) {
    const int clusters = clusters_on_this_device<typename S::Narrow, Value, Work>();
    if (takes_wide_groups<S>(work.sequence.batch_size, clusters))
      launch<typename S::Wide, Value>(work, stream);
    else
      launch<typename S::Narrow, Value>(work, stream);
  });
}

template <class Value>
void pack_forward_as(int64_t hidden_size, const void* weights, void* packed, cudaStream_t stream) {
  with_size(hidden_size,
            [&]<class S>(const S&) { launch_pack<typename S::Narrow, ForwardOrder, Value>(weights, packed, stream); });
}

template <class Value>
void pack_backward_as(int64_t hidden_size, const void* weights, void* packed, cudaStream_t stream) {
  with_size(hidden_size,
            [&]<class S>(const S&) { launch_pack<typename S::Narrow, BackwardOrder, Value>(weights, packed, stream); });
}

// Compiled type by type, in sources of their own.
#define RNNLAB_PERSISTENT_OF(prefix, Value)                                                        \
  prefix template void run_as<Value, PersistentForward>(const PersistentForward&, cudaStream_t);   \
  prefix template void run_as<Value, PersistentBackward>(const PersistentBackward&, cudaStream_t); \
  prefix template void pack_forward_as<Value>(int64_t, const void*, void*, cudaStream_t);          \
  prefix template void pack_backward_as<Value>(int64_t, const void*, void*, cudaStream_t)

}  // namespace rnnlab::kernels::persistent
