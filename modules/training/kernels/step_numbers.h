// The numbers of a step from its gradients' norms, by one kernel where LibTorch takes nine: its row, whether all of
// them are finite, and by how much clipping scales the gradients.
#pragma once

#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

inline constexpr int64_t kNumbersBeforeNorms = 4;

struct StepNumbers {
  const float* loss = nullptr;           // ()
  const float* weighted_loss = nullptr;  // ()
  const float* metric_sum = nullptr;     // ()
  const float* skipped = nullptr;        // () or none: where it is not 0, all norms count as 0
  float* row = nullptr;                  // (kNumbersBeforeNorms + num_norms): the norms in, what stands before them out
  int64_t num_norms = 0;
  float* found_inf = nullptr;   // () set to 1 where a number of the row is not finite
  float max_norm = 0.0F;        // of all gradients together
  float* clip_scale = nullptr;  // () out, or none: min(1, max_norm / (norm of all + 1e-6))
};

// Queued on `stream`. Throws std::runtime_error with CUDA's words if the launch fails.
void run(const StepNumbers& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
