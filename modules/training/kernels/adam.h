// Updates all parameters with Adam or AdamW by one kernel, in float32, with the formulas of LibTorch's fused operators.
#pragma once

#include <cstdint>
#include <span>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

struct AdamTensor {
  float* weight = nullptr;
  const float* gradient = nullptr;
  float* mean = nullptr;
  float* square = nullptr;
  int64_t size = 0;  // number of elements; all four arrays have the same order
};

enum class Decay { kOfGradient, kOfWeight };  // Adam, AdamW

struct AdamUpdate {
  std::span<const AdamTensor> tensors;
  float* step = nullptr;                  // () count of updates, which the kernel increments
  const float* learning_rate = nullptr;   // ()
  const float* found_inf = nullptr;       // () or null: if it is not 0, nothing changes
  const float* gradient_scale = nullptr;  // () or null: factor of the gradients
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  Decay decay = Decay::kOfGradient;
};

// Queues the update on `stream`. Throws std::runtime_error with CUDA's message if a launch fails.
void run(const AdamUpdate& update, CUstream_st* stream);

}  // namespace rnnlab::kernels
