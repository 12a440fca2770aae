#include "training/kernels/step_numbers.h"
#include "training/kernels/work_list.h"

namespace rnnlab::kernels {
namespace {

constexpr int kLanesOfNumbers = 32;

// One warp suffices, because a network has few parameter tensors.
__global__ void step_numbers_kernel(const StepNumbers work) {
  const float firsts[kNumbersBeforeNorms] = {*work.loss, *work.weighted_loss, *work.metric_sum,
                                             work.skipped == nullptr ? 0.0F : *work.skipped};
  bool are_finite = true;
  for (const float number : firsts) are_finite &= static_cast<bool>(isfinite(number));
  float* norms = work.row + kNumbersBeforeNorms;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < work.num_norms; i += kLanesOfNumbers) {
    if (firsts[3] != 0.0F) norms[i] = 0.0F;
    are_finite &= static_cast<bool>(isfinite(norms[i]));
    squares += norms[i] * norms[i];
  }
  for (int lanes = kLanesOfNumbers / 2; lanes > 0; lanes /= 2) squares += __shfl_xor_sync(~0U, squares, lanes);
  are_finite = __all_sync(~0U, are_finite);
  if (threadIdx.x != 0) return;
  for (int i = 0; i < kNumbersBeforeNorms; ++i) work.row[i] = firsts[i];
  if (!are_finite) *work.found_inf = 1.0F;
  constexpr float kNoDivisionByZero = 1e-6F;
  if (work.clip_scale != nullptr) *work.clip_scale = fminf(work.max_norm / (sqrtf(squares) + kNoDivisionByZero), 1.0F);
}

}  // namespace

void run(const StepNumbers& work, cudaStream_t stream) {
  step_numbers_kernel<<<1, kLanesOfNumbers, 0, stream>>>(work);
  require_queued("the kernel of a step's numbers");
}

}  // namespace rnnlab::kernels
