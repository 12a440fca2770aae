// librnnlab_cuda.so, which has all that needs CUDA's own libraries: own kernels, cuDNN, CUDA graphs. It brings
// LibTorch's part for GPUs with it, and lies beside the other libraries of rnnlab. A build without CUDA
// (RNNLAB_CUDA=OFF) has none.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace rnnlab {

// Functions that only librnnlab_cuda.so has, because they need CUDA's own libraries. A module declares such a function
// here as an object and calls it by its name; the library defines it when it is loaded (cuda_library.h).
//
//   inline constinit CudaFunction<std::string(c10::Device)> uuid_of_gpu;                  in a header
//   const std::string uuid = uuid_of_gpu(device);                                         where a GPU is
//   const auto defined = uuid_of_gpu.define([](c10::Device device) { ... });              in librnnlab_cuda.so

template <class Signature>
class CudaFunction;

template <class Result, class... Arguments>
class CudaFunction<Result(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  constexpr CudaFunction() = default;

  // True, so that a constant of the library's own can be initialised by it.
  bool define(Pointer function) {
    function_ = function;
    return true;
  }

  bool is_defined() const { return function_ != nullptr; }

  // Without the library there is no GPU to call it for.
  Result operator()(Arguments... arguments) const {
    RNNLAB_INVARIANT(function_ != nullptr, "a function for GPUs was called, and librnnlab_cuda.so is not loaded");
    return function_(std::forward<Arguments>(arguments)...);
  }

 private:
  Pointer function_ = nullptr;
};

// Loads it once, if this machine has NVIDIA's driver. To be called before LibTorch is asked anything about GPUs: it
// looks only once for what it can do with them. From any thread.
void load_cuda_library();

// Why there are no GPUs for this process: the driver is missing, or the library is missing or cannot be loaded, with
// the system's words and what to do. "" if it is loaded.
std::string why_no_cuda_library();

}  // namespace rnnlab
