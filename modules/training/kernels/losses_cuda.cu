// SPDX-License-Identifier: Apache-2.0
#include "training/kernels/losses.h"

#include <cmath>

#include "recurrent/kernels/launch.h"

namespace rnnlab::kernels {
namespace {

// The sum of a loss and of its metric.
struct Sums {
  float loss, metric;
};

// Returns the sum over the warps of a block; only the first thread may use it. of_warp: of the calling warp.
template <int kWarpsOfBlock>
__device__ Sums block_sum(const Sums& of_warp, int warp, int lane) {
  __shared__ Sums sums[kWarpsOfBlock];
  if (lane == 0) sums[warp] = of_warp;
  __syncthreads();
  Sums sum = sums[0];
  if (warp != 0 || lane != 0) return sum;
  for (int i = 1; i < kWarpsOfBlock; ++i) {
    sum.loss += sums[i].loss;
    sum.metric += sums[i].metric;
  }
  return sum;
}

// count: over how many the loss is a mean.
__device__ void write_results(const LossOutputs& results, const Sums& sum, int64_t count) {
  *results.loss = sum.loss / static_cast<float>(count);
  *results.metric = sum.metric;
}

// The kernel runs in one warp.
__global__ void add_loss_parts_kernel(const LossOutputs results, int64_t num_parts, int64_t count) {
  wait_for_work_ahead();
  Sums sum = {0.0F, 0.0F};
  for (int64_t i = threadIdx.x; i < num_parts; i += kLanes) {
    sum.loss += results.parts[2 * i];
    sum.metric += results.parts[2 * i + 1];
  }
  sum = {warp_sum(sum.loss), warp_sum(sum.metric)};
  if (threadIdx.x == 0) write_results(results, sum, count);
}

// Cross-entropy: one warp computes one row.

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

__device__ Sums evaluate_row(const CrossEntropy& work, int64_t row) {
  const float* logits = work.logits + row * work.num_classes;
  const int64_t wanted = work.classes[row];
  const Best best = best_of(logits, work.num_classes);
  const float sum = sum_of_exponentials(logits, work.num_classes, best.value);
  if (work.results.gradient != nullptr) {
    const float scale = 1.0F / static_cast<float>(work.num_rows);
    for (int64_t i = threadIdx.x; i < work.num_classes; i += kLanesOfRow) {
      const float share = expf(logits[i] - best.value) / sum;
      work.results.gradient[row * work.num_classes + i] = (i == wanted ? share - 1.0F : share) * scale;
    }
  }
  const bool is_class = wanted >= 0 && wanted < work.num_classes;
  const float loss = is_class ? logf(sum) + (best.value - logits[wanted]) : NAN;
  return {loss, best.place == wanted ? 1.0F : 0.0F};
}

__global__ void __launch_bounds__(kLanesOfRow* kRowsAtOnce) rows_kernel(const CrossEntropy work) {
  wait_for_work_ahead();
  Sums sum = {0.0F, 0.0F};
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kRowsAtOnce + threadIdx.y; row < work.num_rows;
       row += static_cast<int64_t>(gridDim.x) * kRowsAtOnce) {
    const Sums of_row = evaluate_row(work, row);
    sum.loss += of_row.loss;
    sum.metric += of_row.metric;
  }
  sum = block_sum<kRowsAtOnce>(sum, static_cast<int>(threadIdx.y), static_cast<int>(threadIdx.x));
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  work.results.parts[2 * blockIdx.x] = sum.loss;
  work.results.parts[2 * blockIdx.x + 1] = sum.metric;
}

// Losses of numbers.

constexpr int kNumberThreads = 512;

struct OfNumber {
  Sums sums;
  float gradient;
};

// As LibTorch computes it, which also decides between infinity and NaN.
__device__ OfNumber binary_cross_entropy(float x, float target) {
  const float log_sigmoid = fminf(x, 0.0F) - log1pf(expf(-fabsf(x)));
  const bool is_right = (x > 0.0F) == (target >= 0.5F);
  return {{(1.0F - target) * x - log_sigmoid, is_right ? 1.0F : 0.0F}, 1.0F / (1.0F + expf(-x)) - target};
}

__device__ OfNumber squared_error(float x, float target) {
  const float error = x - target;
  return {{error * error, fabsf(error)}, 2.0F * error};
}

template <NumberLossKind kKind>
__device__ OfNumber loss_of(float x, float target) {
  return kKind == NumberLossKind::kSquaredError ? squared_error(x, target) : binary_cross_entropy(x, target);
}

// If there is one block, it writes the results, otherwise its part.
template <NumberLossKind kKind>
__global__ void __launch_bounds__(kNumberThreads) numbers_kernel(const NumberLoss work) {
  wait_for_work_ahead();
  const float scale = 1.0F / static_cast<float>(work.size);
  Sums sum = {0.0F, 0.0F};
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kNumberThreads + threadIdx.x; i < work.size;
       i += static_cast<int64_t>(gridDim.x) * kNumberThreads) {
    const OfNumber one = loss_of<kKind>(work.outputs[i], work.targets[i]);
    sum.loss += one.sums.loss;
    sum.metric += one.sums.metric;
    if (work.results.gradient != nullptr) work.results.gradient[i] = one.gradient * scale;
  }
  const int thread = static_cast<int>(threadIdx.x), lanes = static_cast<int>(kLanes);
  sum = {warp_sum(sum.loss), warp_sum(sum.metric)};
  sum = block_sum<kNumberThreads / kLanes>(sum, thread / lanes, thread % lanes);
  if (thread != 0) return;
  if (gridDim.x == 1) return write_results(work.results, sum, work.size);
  work.results.parts[2 * blockIdx.x] = sum.loss;
  work.results.parts[2 * blockIdx.x + 1] = sum.metric;
}

void add_loss_parts(const LossOutputs& results, int64_t num_parts, int64_t count, cudaStream_t stream) {
  launch_dependent(add_loss_parts_kernel, 1, kLanes, 0, stream, results, num_parts, count);
}

}  // namespace

void run(const CrossEntropy& work, cudaStream_t stream) {
  const int64_t num_parts = num_parts_of(work);
  launch_dependent(rows_kernel, static_cast<uint32_t>(num_parts), dim3(kLanesOfRow, kRowsAtOnce), 0, stream, work);
  add_loss_parts(work.results, num_parts, work.num_rows, stream);
  require_started("cross-entropy's kernel");
}

void run(const NumberLoss& work, cudaStream_t stream) {
  const int64_t num_parts = num_parts_of(work);
  const auto kernel = work.kind == NumberLossKind::kSquaredError ? numbers_kernel<NumberLossKind::kSquaredError>
                                                                 : numbers_kernel<NumberLossKind::kBinaryCrossEntropy>;
  launch_dependent(kernel, static_cast<uint32_t>(num_parts), kNumberThreads, 0, stream, work);
  if (num_parts > 1) add_loss_parts(work.results, num_parts, work.size, stream);
  require_started("the kernel of a loss");
}

}  // namespace rnnlab::kernels
