// SPDX-License-Identifier: Apache-2.0
// The collective operations of the processes of one run whose gradients are on GPUs, by NCCL through LibTorch's
// ProcessGroupNCCL. The operations are queued on the current stream like kernels, also while the stream is captured in
// a CUDA graph, and the functions do not wait for the operations. Large messages lie in memory that is registered with
// NCCL, whose kernels then need half as many SMs for the same speed (docs/results/2026-11-25-two-gpus.md).
//
// Left out: time limits. Kernels wait for a missing rank until abort() ends them, or, in symmetric memory, until the
// process ends.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "layers/device/cuda_library.h"
#include "train/ranks/launch.h"

namespace rnnlab {

struct MessageSources;  // of ranks.h

class GpuGroup {
 public:
  GpuGroup() = default;
  virtual ~GpuGroup() = default;
  GpuGroup(const GpuGroup&) = delete;
  GpuGroup& operator=(const GpuGroup&) = delete;

  // These two functions do what those of Ranks do. `values` is contiguous and on this rank's GPU.
  virtual void all_reduce(at::Tensor& values) = 0;
  virtual void all_gather_into(const at::Tensor& values, const at::Tensor& all) = 0;

  // Returns zeros, (count) float32, in memory that can be registered, or throws. This function concerns this rank only.
  virtual at::Tensor registrable_zeros(int64_t count) = 0;

  // Registers the memory of the last registrable_zeros() with the other ranks, or throws. All ranks must call this
  // function at the same place, before any graph with operations of this group exists.
  virtual void register_memory(const at::Tensor& zeros) = 0;

  // Symmetric memory: these functions do what those of Ranks do.
  virtual bool gives_sources() const = 0;
  virtual MessageSources sources_of(const at::Tensor& message) = 0;
  virtual void announce(const at::Tensor& message) = 0;
  virtual void fetch(const at::Tensor& message) = 0;
  virtual void end_reads() = 0;

  // Smaller messages gain nothing by registered memory.
  virtual int64_t least_registered_count() const = 0;

  // Returns NCCL's error of an earlier operation, such as a lost connection to another host; "" if there is none.
  virtual std::string error() const = 0;

  // Ends the queued operations; their results are then meaningless. Does not return before the CUDA graphs with
  // operations of this group are destroyed. The destructor also calls this function.
  virtual void abort() noexcept = 0;

  virtual bool is_capturing() const = 0;  // whether the current stream is captured in a CUDA graph

  // Makes the GPU of this group the current device of the calling thread.
  virtual void make_current() = 0;
};

struct GpuGroupOptions {
  c10::Device device = c10::kCUDA;
  bool is_shared = false;  // with another rank; NCCL permits that only if it believes that the ranks are on two hosts
  ExchangeKind exchange = ExchangeKind::kAuto;
  int64_t channels = DistributedSettings::kUsualChannels;
  int64_t rank = 0;
  int64_t size = 1;
  bool is_one_host = true;
};

// Connects to all ranks, and waits for them. NCCL and LibTorch read variables of the environment meanwhile.
inline constinit CudaFunction<std::unique_ptr<GpuGroup>(const c10::intrusive_ptr<c10d::Store>& store,
                                                        const GpuGroupOptions& options)>
    make_nccl_group;

}  // namespace rnnlab
