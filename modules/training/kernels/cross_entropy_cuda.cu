// SPDX-License-Identifier: Apache-2.0
// One warp computes one row.
#include "training/kernels/cross_entropy.h"

#include <cmath>

#include "recurrent/kernels/launch.h"

namespace rnnlab::kernels {
namespace {

constexpr int kLanesOfRow = kLanes;
constexpr int kRowsAtOnce = kCrossEntropyRowsAtOnce;

struct Best {
  float value;
  int64_t place;
};

// As in argmax, NaN is larger than every number, and the first of equal values is chosen.
__device__ bool is_better(const Best& a, const Best& b) {
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  if (a_is_nan != b_is_nan) return a_is_nan;
  if (a_is_nan || a.value == b.value) return a.place < b.place;
  return a.value > b.value;
}

// All lanes return the result.
__device__ Best best_of(const float* logits, int64_t num_classes) {
  Best best = {-INFINITY, num_classes};
  for (int64_t i = threadIdx.x; i < num_classes; i += kLanesOfRow) {
    const Best candidate = {logits[i], i};
    if (is_better(candidate, best)) best = candidate;
  }
  for (int lanes = kLanesOfRow / 2; lanes > 0; lanes /= 2) {
    const Best other = {__shfl_xor_sync(~0U, best.value, lanes), __shfl_xor_sync(~0U, best.place, lanes)};
    if (is_better(other, best)) best = other;
  }
  return best;
}

__device__ float sum_of_exponentials(const float* logits, int64_t num_classes, float largest) {
  float sum = 0;
  for (int64_t i = threadIdx.x; i < num_classes; i += kLanesOfRow) sum += expf(logits[i] - largest);
  return warp_sum(sum);
}

struct RowResult {
  float loss;
  float is_right;
};

__device__ RowResult evaluate_row(const CrossEntropy& work, int64_t row) {
  const float* logits = work.logits + row * work.num_classes;
  const int64_t wanted = work.classes[row];
  const Best best = best_of(logits, work.num_classes);
  const float sum = sum_of_exponentials(logits, work.num_classes, best.value);
  if (work.gradient != nullptr) {
    const float scale = 1.0F / static_cast<float>(work.num_rows);
    for (int64_t i = threadIdx.x; i < work.num_classes; i += kLanesOfRow) {
      const float share = expf(logits[i] - best.value) / sum;
      work.gradient[row * work.num_classes + i] = (i == wanted ? share - 1.0F : share) * scale;
    }
  }
  const bool is_class = wanted >= 0 && wanted < work.num_classes;
  const float loss = is_class ? logf(sum) + (best.value - logits[wanted]) : NAN;
  return {loss, best.place == wanted ? 1.0F : 0.0F};
}

__global__ void __launch_bounds__(kLanesOfRow* kRowsAtOnce) rows_kernel(const CrossEntropy work) {
  wait_for_work_ahead();
  __shared__ RowResult sums[kRowsAtOnce];
  RowResult sum = {0.0F, 0.0F};
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kRowsAtOnce + threadIdx.y; row < work.num_rows;
       row += static_cast<int64_t>(gridDim.x) * kRowsAtOnce) {
    const RowResult result = evaluate_row(work, row);
    sum.loss += result.loss;
    sum.is_right += result.is_right;
  }
  if (threadIdx.x == 0) sums[threadIdx.y] = sum;
  __syncthreads();
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  for (int i = 1; i < kRowsAtOnce; ++i) {
    sum.loss += sums[i].loss;
    sum.is_right += sums[i].is_right;
  }
  work.parts[2 * blockIdx.x] = sum.loss;
  work.parts[2 * blockIdx.x + 1] = sum.is_right;
}

// The kernel runs in one warp.
__global__ void add_results_kernel(const CrossEntropy work, int64_t num_parts) {
  wait_for_work_ahead();
  RowResult sum = {0.0F, 0.0F};
  for (int64_t i = threadIdx.x; i < num_parts; i += kLanesOfRow) {
    sum.loss += work.parts[2 * i];
    sum.is_right += work.parts[2 * i + 1];
  }
  sum = {warp_sum(sum.loss), warp_sum(sum.is_right)};
  if (threadIdx.x != 0) return;
  *work.loss = sum.loss / static_cast<float>(work.num_rows);
  *work.num_right = sum.is_right;
}

}  // namespace

void run(const CrossEntropy& work, cudaStream_t stream) {
  const int64_t num_parts = num_cross_entropy_parts(work.num_rows);
  launch_dependent(rows_kernel, static_cast<uint32_t>(num_parts), dim3(kLanesOfRow, kRowsAtOnce), 0, stream, work);
  launch_dependent(add_results_kernel, 1, kLanesOfRow, 0, stream, work, num_parts);
  require_started("cross-entropy's kernel");
}

}  // namespace rnnlab::kernels
