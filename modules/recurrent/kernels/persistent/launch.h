// How a pass is launched for one size: as many clusters as there are groups of sequences. Groups have nothing to do
// with each other, so that those that do not fit at once simply come later.
#pragma once

#include "recurrent/kernels/persistent/backward_kernel.h"
#include "recurrent/kernels/persistent/forward_kernel.h"
#include "recurrent/kernels/persistent/launch_check.h"
#include "recurrent/kernels/persistent/pack.h"
#include "recurrent/kernels/persistent/team_backward.h"
#include "recurrent/kernels/persistent/team_forward.h"

namespace rnnlab::kernels::persistent {

// cluster: out, what the result points to.
template <class T>
cudaLaunchConfig_t cluster_launch(int64_t batch_size, int shared_bytes, cudaStream_t stream,
                                  cudaLaunchAttribute& cluster) {
  const auto groups = static_cast<unsigned>((batch_size + T::kSequences - 1) / T::kSequences);
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {T::kBlocks, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(groups * T::kBlocks);
  config.blockDim = dim3(T::kThreads);
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return config;
}

template <class Kernel>
void allow_cluster(Kernel kernel, int shared_bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "cudaFuncSetAttribute");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cudaFuncSetAttribute");
}

// Of the packed weights; those of both passes have as many.
template <class T>
constexpr int packed_bytes() {
  constexpr int kWarpsOfCluster = T::kBlocks * T::kWarps;
  static_assert(T::ForwardSlice::kFragments == T::BackwardSlice::kFragments);
  return kWarpsOfCluster * T::ForwardSlice::kFragments * kFragmentBytesPerWarp;
}

// The kernel of a pass, and what it takes of shared memory.
template <class T>
auto kernel_of(const PersistentForward*) {
  if constexpr (T::kTeams == 1)
    return forward_kernel<T>;
  else
    return team_forward_kernel<T>;
}
template <class T>
auto kernel_of(const PersistentBackward*) {
  if constexpr (T::kTeams == 1)
    return backward_kernel<T>;
  else
    return team_backward_kernel<T>;
}
template <class T>
constexpr int shared_bytes_of(const PersistentForward*) {
  return T::ForwardSlice::kSharedBytesOfAll;
}
template <class T>
constexpr int shared_bytes_of(const PersistentBackward*) {
  return T::BackwardSlice::kSharedBytesOfAll;
}

// Whether two blocks may run on one SM.
enum class SharingOfSms { kAllowed, kNone };

// How many clusters run at the same time on the current device, which may be none.
template <class T, class Work, SharingOfSms kSharing = SharingOfSms::kAllowed>
int clusters_at_once() {
  constexpr const Work* kWork = nullptr;
  constexpr int kBytes =
      kSharing == SharingOfSms::kAllowed ? shared_bytes_of<T>(kWork) : kSharedBytes - kOtherSharedBytes;
  const auto kernel = kernel_of<T>(kWork);
  allow_cluster(kernel, kBytes);
  cudaLaunchAttribute cluster;
  const cudaLaunchConfig_t config = cluster_launch<T>(1, kBytes, nullptr, cluster);
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config), "cudaOccupancyMaxActiveClusters");
  return clusters;
}

template <class T, class Work>
void launch(const Work& work, cudaStream_t stream) {
  const auto kernel = kernel_of<T>(&work);
  allow_cluster(kernel, shared_bytes_of<T>(&work));
  cudaLaunchAttribute cluster;
  const cudaLaunchConfig_t config =
      cluster_launch<T>(work.sequence.batch_size, shared_bytes_of<T>(&work), stream, cluster);
  check(cudaLaunchKernelEx(&config, kernel, work), "the launch");
}

template <class T, template <class> class Order>
void launch_pack(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                 cudaStream_t stream) {
  constexpr int kThreads = 128;
  constexpr int kVectors = packed_bytes<T>() / sizeof(uint4);
  static_assert(kVectors % kThreads == 0);
  with_weights<typename T::Numbers::Value>(weights, [&](const auto* values) {
    pack_kernel<T, Order><<<kVectors / kThreads, kThreads, 0, stream>>>(values, static_cast<int>(sequence.hidden_size),
                                                                        static_cast<uint4*>(packed));
  });
  check(cudaGetLastError(), "packing the weights");
}

}  // namespace rnnlab::kernels::persistent
