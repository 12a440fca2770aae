// Computes the numbers of a step from the norms of its gradients by one kernel (LibTorch launches nine): the step's
// row, whether all numbers are finite, and the factor by which clipping scales the gradients.
#pragma once

#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

inline constexpr int64_t kNumbersBeforeNorms = 4;

struct StepNumbers {
  const float* loss = nullptr;           // ()
  const float* weighted_loss = nullptr;  // ()
  const float* metric_sum = nullptr;     // ()
  const float* skipped = nullptr;        // () or null: if it is not 0, all norms count as 0
  float* row = nullptr;  // (kNumbersBeforeNorms + num_norms): reads the norms, writes the numbers before them
  int64_t num_norms = 0;
  float* found_inf = nullptr;   // () set to 1 if a number of the row is not finite
  float max_norm = 0.0F;        // of all gradients together
  float* clip_scale = nullptr;  // () written, or null: min(1, max_norm / (norm of all + 1e-6))
};

// Queues the work on `stream`. Throws std::runtime_error with CUDA's message if the launch fails.
void run(const StepNumbers& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
