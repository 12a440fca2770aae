// librnnlab_cuda.so, which has all that needs CUDA's own libraries: own kernels, cuDNN, CUDA graphs. It brings
// LibTorch's part for GPUs with it, and lies beside the other libraries of rnnlab. A build without CUDA
// (RNNLAB_CUDA=OFF) has none.
#pragma once

#include <string>

namespace rnnlab {

// Loads it once, if this machine has NVIDIA's driver. To be called before LibTorch is asked anything about GPUs: it
// looks only once for what it can do with them. From any thread.
void load_cuda_library();

// Why there are no GPUs for this process: the driver is missing, or the library is missing or cannot be loaded, with
// the system's words and what to do. "" if it is loaded.
std::string why_no_cuda_library();

}  // namespace rnnlab
