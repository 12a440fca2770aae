#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "recurrent/kernels/own_code.h"

namespace rnnlab::kernels {
namespace {

// This kernel is never launched; it represents all kernels that are compiled for the same GPUs.
__global__ void probe_kernel() {}

}  // namespace

bool has_own_code() {
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, probe_kernel);
  (void)cudaGetLastError();  // otherwise the next kernel would report this error
  if (error == cudaSuccess) return true;
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
      error == cudaErrorUnsupportedPtxVersion || error == cudaErrorInvalidKernelImage)
    return false;
  throw std::runtime_error(std::string("asking for own kernels on this GPU: ") + cudaGetErrorString(error));
}

}  // namespace rnnlab::kernels
