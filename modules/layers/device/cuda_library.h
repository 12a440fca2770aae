// SPDX-License-Identifier: Apache-2.0
// Loads librnnlab_cuda.so, which holds the code that needs CUDA's libraries: own kernels, cuDNN, CUDA graphs. It loads
// LibTorch's part for GPUs, and is in the folder of rnnlab's other libraries. A build without CUDA (RNNLAB_CUDA=OFF)
// does not have it.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace rnnlab {

// CudaFunction declares a function that only librnnlab_cuda.so defines, because it needs CUDA's libraries. A module
// declares such a function as an object and calls it by name; the library defines it when it is loaded.
//
//   inline constinit CudaFunction<std::string(c10::Device)> uuid_of_gpu;                  in a header
//   const std::string uuid = uuid_of_gpu(device);                                         on a machine with a GPU
//   const auto defined = uuid_of_gpu.define([](c10::Device device) { ... });              in librnnlab_cuda.so
template <class Signature>
class CudaFunction;

template <class Result, class... Arguments>
class CudaFunction<Result(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  constexpr CudaFunction() = default;

  // Returns true, so that a constant of the library can be initialised with it.
  bool define(Pointer function) {
    function_ = function;
    return true;
  }

  bool is_defined() const { return function_ != nullptr; }

  // Calls the function. Without the library there is no GPU, so an undefined function is a defect.
  Result operator()(Arguments... arguments) const {
    RNNLAB_INVARIANT(function_ != nullptr, "librnnlab_cuda.so must be loaded before a function for GPUs is called");
    return function_(std::forward<Arguments>(arguments)...);
  }

 private:
  Pointer function_ = nullptr;
};

// Loads the library once, if this machine has NVIDIA's driver. Call it before LibTorch is used for GPUs, because
// LibTorch checks only once which GPU functions exist. It is thread-safe.
void load_cuda_library();

// Returns why this process cannot use GPUs: the driver is missing, or the library is missing or cannot be loaded, with
// the system's message and the next step. Returns "" if the library is loaded.
std::string why_no_cuda_library();

}  // namespace rnnlab
