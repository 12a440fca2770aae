// The collective operations of the processes of one run whose gradients are on GPUs: NCCL, by LibTorch's
// ProcessGroupNCCL. They are queued on the current stream like kernels, also while it is captured in a CUDA graph, and
// nothing here waits for them.
//
// What goes wrong with them is not found here: kernels wait for a rank that is gone for ever, until abort() ends them.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "gpu/cuda_library.h"

namespace rnnlab {

class GpuGroup {
 public:
  GpuGroup() = default;
  virtual ~GpuGroup() = default;
  GpuGroup(const GpuGroup&) = delete;
  GpuGroup& operator=(const GpuGroup&) = delete;

  // As Ranks. `values` is contiguous, on this rank's GPU.
  virtual void add_up(at::Tensor& values) = 0;
  virtual void gather(const at::Tensor& values, const at::Tensor& all) = 0;

  // Ends what is queued, whose results are without meaning then. Does not return while CUDA graphs with operations of
  // this group live. The destructor does it too.
  virtual void abort() noexcept = 0;

  virtual bool is_capturing() const = 0;  // the current stream, in a CUDA graph

  // Of the calling thread, from here on.
  virtual void make_current() = 0;
};

struct GpuGroupOptions {
  c10::Device device = c10::kCUDA;
  int64_t rank = 0;
  int64_t size = 1;
  bool is_one_host = true;
  bool shares_gpu = false;  // with another rank, which NCCL refuses unless it believes that they are on two hosts
};

// Connects to all ranks, and waits for them.
inline constinit CudaFunction<std::unique_ptr<GpuGroup>(const c10::intrusive_ptr<c10d::Store>& store,
                                                        const GpuGroupOptions& options)>
    make_nccl_group;

}  // namespace rnnlab
