// How a pass by groups of blocks is launched: as many groups at once as the GPU has room for, by a cooperative launch,
// since the blocks of a group wait for each other; the others after them.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "recurrent/kernels/persistent/grid_backward.h"
#include "recurrent/kernels/persistent/grid_forward.h"
#include "recurrent/kernels/persistent/grid_pack.h"
#include "recurrent/kernels/persistent/launch.h"

namespace rnnlab::kernels::persistent {

// What differs between the passes.
template <class T>
struct GridForwardPass {
  using Slice = typename T::ForwardSlice;
  static constexpr auto kKernel = grid_forward_kernel<T>;
  static constexpr int kClusterSize = 1;
  static constexpr size_t kExchangeBytes = T::kForwardExchangeBytes;
  static constexpr int kEmptyByte = 0xFF;  // kNothing
};
template <class T>
struct GridBackwardPass {
  using Slice = typename T::BackwardSlice;
  static constexpr auto kKernel = grid_backward_kernel<T>;
  static constexpr int kClusterSize = T::kPartners;
  static constexpr size_t kExchangeBytes = T::kBackwardExchangeBytes;
  static constexpr int kEmptyByte = 0;  // not the phase of the first sums
};
template <class T>
GridForwardPass<T> grid_pass(const PersistentForward&);
template <class T>
GridBackwardPass<T> grid_pass(const PersistentBackward&);
template <class T, class Work>
using GridPass = decltype(grid_pass<T>(std::declval<Work>()));

template <class T, class Work>
constexpr int grid_packed_bytes() {
  return T::kBlocks * T::kWarps * GridPass<T, Work>::Slice::kFragments * kFragmentBytesPerWarp;
}

template <class T>
int groups_of(const PersistentSequence& sequence) {
  return static_cast<int>((sequence.batch_size + T::kSequencesOfGroup - 1) / T::kSequencesOfGroup);
}

using GridAttributes = std::array<cudaLaunchAttribute, 2>;

template <class T, class Work>
cudaLaunchConfig_t grid_launch(int groups, cudaStream_t stream, GridAttributes& attributes) {
  using Pass = GridPass<T, Work>;
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {Pass::kClusterSize, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(groups * T::kBlocks));
  config.blockDim = dim3(T::kThreads);
  config.dynamicSmemBytes = Pass::Slice::kSharedBytesOfAll;
  config.stream = stream;
  config.attrs = attributes.data();
  config.numAttrs = attributes.size();
  return config;
}

// How many groups run at the same time on the current device when it has nothing else to do.
template <class T, class Work>
int groups_at_once() {
  using Pass = GridPass<T, Work>;
  check(
      cudaFuncSetAttribute(Pass::kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Pass::Slice::kSharedBytesOfAll),
      "cudaFuncSetAttribute");
  GridAttributes attributes;
  const cudaLaunchConfig_t config = grid_launch<T, Work>(1, nullptr, attributes);
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, Pass::kKernel, &config), "cudaOccupancyMaxActiveClusters");
  return clusters * Pass::kClusterSize / T::kBlocks;
}

// Groups [first, first + count) of the batch.
template <class T, class Work>
void launch_groups(const Work& work, int first, int count, cudaStream_t stream) {
  using Pass = GridPass<T, Work>;
  check(cudaMemsetAsync(work.exchange, Pass::kEmptyByte, count * Pass::kExchangeBytes, stream), "cudaMemsetAsync");
  GridAttributes attributes;
  const cudaLaunchConfig_t config = grid_launch<T, Work>(count, stream, attributes);
  check(cudaLaunchKernelEx(&config, Pass::kKernel, work, first), "the launch");
}

// at_once: at most groups_at_once.
template <class T, class Work>
void launch_grid(const Work& work, int at_once, cudaStream_t stream) {
  const int groups = groups_of<T>(work.sequence);
  for (int first = 0; first < groups; first += at_once)
    launch_groups<T>(work, first, std::min(at_once, groups - first), stream);
}

template <class T, template <class> class Order>
void launch_grid_pack(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                      cudaStream_t stream) {
  constexpr int kThreads = 128;
  constexpr int kVectors = T::kBlocks * T::kWarps * Order<T>::Slice::kFragments * kLanes;
  static_assert(kVectors % kThreads == 0);
  with_weights<typename T::Numbers::Value>(weights, [&](const auto* values) {
    grid_pack_kernel<T, Order><<<kVectors / kThreads, kThreads, 0, stream>>>(
        values, static_cast<int>(sequence.hidden_size), static_cast<uint4*>(packed));
  });
  check(cudaGetLastError(), "packing the weights");
}

}  // namespace rnnlab::kernels::persistent
