// The moment at which all blocks of a kernel run, for another stream to wait for.
#pragma once

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

namespace rnnlab {

class KernelStart {
 public:
  KernelStart() { C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~KernelStart() { C10_CUDA_CHECK_WARN(cudaEventDestroy(event_)); }
  KernelStart(const KernelStart&) = delete;
  KernelStart& operator=(const KernelStart&) = delete;

  // For the launch, which records it.
  cudaEvent_t event() const { return event_; }

  // What is queued on the stream from now on waits for the launched kernel to have started.
  void wait_on(cudaStream_t stream) const { C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace rnnlab
