// What CUDA says of a launch, as an exception.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace rnnlab::kernels::persistent {

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // left there, the next kernel would be blamed
  throw std::runtime_error(std::string("layer: persistent: ") + what +
                           " failed on this GPU: " + cudaGetErrorString(error));
}

}  // namespace rnnlab::kernels::persistent
