// SPDX-License-Identifier: Apache-2.0
#include "train/loop/kernels/loss.h"

#include <cmath>

#include "layers/kernels/launch.h"

namespace rnnlab::kernels {
namespace {

struct LossSums {
  float loss;
  float metric;
};

__device__ void operator+=(LossSums& sums, const LossSums& others) {
  sums.loss += others.loss;
  sums.metric += others.metric;
}

__device__ LossSums warp_sums(const LossSums& sums) { return {warp_sum(sums.loss), warp_sum(sums.metric)}; }

// Adds the values of a block's threads, always in the same order; threads of the first warp return the sums.
template <uint32_t kThreads>
__device__ LossSums block_sums(LossSums sums) {
  constexpr uint32_t kWarpsOfBlock = kThreads / kLanes;
  static_assert(kWarpsOfBlock <= kLanes, "one warp must add up the sums of all warps");
  __shared__ LossSums of_warps[kWarpsOfBlock];
  sums = warp_sums(sums);
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = sums;
  __syncthreads();
  if (threadIdx.x >= kLanes) return sums;
  return warp_sums(threadIdx.x < kWarpsOfBlock ? of_warps[threadIdx.x] : LossSums{0.0F, 0.0F});
}

// One thread of each block calls this function.
__device__ void write_loss_part(const LossResults& results, const LossSums& sums) {
  results.parts[2 * blockIdx.x] = sums.loss;
  results.parts[2 * blockIdx.x + 1] = sums.metric;
}

// count: by which the sum of losses is divided.
__device__ void write_losses(const LossResults& results, const LossSums& sums, int64_t count) {
  *results.loss = sums.loss / static_cast<float>(count);
  *results.metric_sum = sums.metric;
}

constexpr uint32_t kPartThreads = 256;

// The kernel runs in one block.
__global__ void __launch_bounds__(kPartThreads)
    add_losses_kernel(const LossResults results, int64_t num_parts, int64_t count) {
  wait_for_work_ahead();
  LossSums sums = {0.0F, 0.0F};
  for (int64_t i = threadIdx.x; i < num_parts; i += kPartThreads)
    sums += {results.parts[2 * i], results.parts[2 * i + 1]};
  sums = block_sums<kPartThreads>(sums);
  if (threadIdx.x == 0) write_losses(results, sums, count);
}

// Cross-entropy: one warp computes one row.

constexpr int kLanesOfRow = kLanes;
constexpr int kRowsAtOnce = kCrossEntropyRowsAtOnce;
constexpr int kMostKept = 4;  // logits of a lane

// A lane's logits of a row: every 32nd one. The first `kKept` stay in registers; if it is 0, all are read again.
template <int kKept>
class LaneLogits {
 public:
  __device__ LaneLogits(const float* row, int num_classes) : row_(row), num_classes_(num_classes) {
#pragma unroll
    for (int i = 0; i < kKept; ++i) kept_[i] = has(i) ? row[place(i)] : 0.0F;
  }

  __device__ int most() const { return kKept > 0 ? kKept : (num_classes_ + kLanesOfRow - 1) / kLanesOfRow; }
  __device__ int place(int i) const { return i * kLanesOfRow + static_cast<int>(threadIdx.x); }
  __device__ bool has(int i) const { return place(i) < num_classes_; }
  __device__ float operator[](int i) const { return kKept > 0 ? kept_[i] : row_[place(i)]; }

 private:
  const float* row_;
  int num_classes_;
  float kept_[kKept > 0 ? kKept : 1];
};

struct Best {
  float value;
  int place;
};

// As in argmax, NaN is larger than every number, and the first of equal values is chosen.
__device__ bool is_better(const Best& a, const Best& b) {
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  if (a_is_nan != b_is_nan) return a_is_nan;
  if (a_is_nan || a.value == b.value) return a.place < b.place;
  return a.value > b.value;
}

// All lanes return the result.
template <int kKept>
__device__ Best best_of(const LaneLogits<kKept>& logits, int num_classes) {
  Best best = {-INFINITY, num_classes};
#pragma unroll
  for (int i = 0; i < logits.most(); ++i) {
    if (!logits.has(i)) break;
    const Best candidate = {logits[i], logits.place(i)};
    if (is_better(candidate, best)) best = candidate;
  }
  for (int lanes = kLanesOfRow / 2; lanes > 0; lanes /= 2) {
    const Best other = {__shfl_xor_sync(~0U, best.value, lanes), __shfl_xor_sync(~0U, best.place, lanes)};
    if (is_better(other, best)) best = other;
  }
  return best;
}

template <int kKept>
__device__ float sum_of_exponentials(const LaneLogits<kKept>& logits, float largest) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < logits.most(); ++i)
    if (logits.has(i)) sum += expf(logits[i] - largest);
  return warp_sum(sum);
}

template <int kKept>
__device__ LossSums evaluate_row(const CrossEntropy& work, int64_t row) {
  const int num_classes = static_cast<int>(work.num_classes);
  const float* of_row = work.logits + row * work.num_classes;
  const int64_t wanted = work.classes[row];
  const LaneLogits<kKept> logits(of_row, num_classes);
  const Best best = best_of(logits, num_classes);
  const float sum = sum_of_exponentials(logits, best.value);
  if (work.results.gradient != nullptr) {
    const float scale = 1.0F / static_cast<float>(work.num_rows);
    float* gradient = work.results.gradient + row * work.num_classes;
#pragma unroll
    for (int i = 0; i < logits.most(); ++i) {
      if (!logits.has(i)) break;
      const float share = expf(logits[i] - best.value) / sum;
      gradient[logits.place(i)] = (logits.place(i) == wanted ? share - 1.0F : share) * scale;
    }
  }
  const bool is_class = wanted >= 0 && wanted < num_classes;
  const float loss = is_class ? logf(sum) + (best.value - of_row[wanted]) : NAN;
  return {loss, best.place == wanted ? 1.0F : 0.0F};
}

template <int kKept>
__global__ void __launch_bounds__(kLanesOfRow* kRowsAtOnce) rows_kernel(const CrossEntropy work) {
  wait_for_work_ahead();
  __shared__ LossSums of_warps[kRowsAtOnce];
  LossSums sums = {0.0F, 0.0F};
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kRowsAtOnce + threadIdx.y; row < work.num_rows;
       row += static_cast<int64_t>(gridDim.x) * kRowsAtOnce)
    sums += evaluate_row<kKept>(work, row);
  if (threadIdx.x == 0) of_warps[threadIdx.y] = sums;
  __syncthreads();
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  for (int i = 1; i < kRowsAtOnce; ++i) sums += of_warps[i];
  write_loss_part(work.results, sums);
}

}  // namespace

void run(const CrossEntropy& work, cudaStream_t stream) {
  const int64_t num_parts = num_loss_parts(work);
  const auto launch = [&](auto kernel) {
    launch_dependent(kernel, static_cast<uint32_t>(num_parts), dim3(kLanesOfRow, kRowsAtOnce), 0, stream, work);
  };
  if (work.num_classes <= kLanesOfRow)
    launch(rows_kernel<1>);
  else
    work.num_classes <= kMostKept* kLanesOfRow ? launch(rows_kernel<kMostKept>) : launch(rows_kernel<0>);
  launch_dependent(add_losses_kernel, 1, kPartThreads, 0, stream, work.results, num_parts, work.num_rows);
  require_started("cross-entropy's kernel");
}

namespace {

// Losses of elements: one block computes kElementsAtOnce elements at once.

constexpr uint32_t kElementThreads = 512;
constexpr int kElementsOfThread = kElementsAtOnce / kElementThreads;

struct ElementResult {
  LossSums sums;
  float gradient;
};

// LibTorch has (1 - t) x - log_sigmoid(x) too, so an infinite logit gives the same loss, which may be NaN. No
// exponential overflows.
__device__ ElementResult binary_cross_entropy(float logit, float target) {
  const float exponential = expf(-fabsf(logit));
  const float loss = (1.0F - target) * logit - fminf(logit, 0.0F) + log1pf(exponential);
  const float sigmoid = (logit >= 0.0F ? 1.0F : exponential) / (1.0F + exponential);
  const bool is_right = (logit > 0.0F) == (target >= 0.5F);
  return {{loss, is_right ? 1.0F : 0.0F}, sigmoid - target};
}

__device__ ElementResult squared_error(float output, float target) {
  const float error = output - target;
  return {{error * error, fabsf(error)}, 2.0F * error};
}

template <ElementLossKind kind>
__device__ ElementResult evaluate_element(float output, float target) {
  static_assert(kind == ElementLossKind::kBinaryCrossEntropy || kind == ElementLossKind::kSquaredError);
  if constexpr (kind == ElementLossKind::kBinaryCrossEntropy)
    return binary_cross_entropy(output, target);
  else
    return squared_error(output, target);
}

// Evaluates element `first` and each kElementThreads-th element after it. A thread issues all its loads before it
// computes, because no load can move before a store of a gradient.
template <ElementLossKind kind>
__device__ LossSums evaluate_elements(const ElementLoss& work, int64_t first) {
  float outputs[kElementsOfThread], targets[kElementsOfThread];
#pragma unroll
  for (int i = 0; i < kElementsOfThread; ++i) {
    const int64_t place = first + i * static_cast<int64_t>(kElementThreads);
    outputs[i] = place < work.size ? work.outputs[place] : 0.0F;
    targets[i] = place < work.size ? work.targets[place] : 0.0F;
  }
  const float scale = 1.0F / static_cast<float>(work.size);
  LossSums sums = {0.0F, 0.0F};
#pragma unroll
  for (int i = 0; i < kElementsOfThread; ++i) {
    const int64_t place = first + i * static_cast<int64_t>(kElementThreads);
    if (place >= work.size) return sums;
    const ElementResult result = evaluate_element<kind>(outputs[i], targets[i]);
    sums += result.sums;
    if (work.results.gradient != nullptr) work.results.gradient[place] = result.gradient * scale;
  }
  return sums;
}

template <ElementLossKind kind>
__global__ void __launch_bounds__(kElementThreads) elements_kernel(const ElementLoss work) {
  wait_for_work_ahead();
  LossSums sums = {0.0F, 0.0F};
  for (int64_t first = blockIdx.x * kElementsAtOnce; first < work.size; first += gridDim.x * kElementsAtOnce)
    sums += evaluate_elements<kind>(work, first + threadIdx.x);
  sums = block_sums<kElementThreads>(sums);
  if (threadIdx.x != 0) return;
  if (gridDim.x == 1) return write_losses(work.results, sums, work.size);
  write_loss_part(work.results, sums);
}

auto kernel_of(ElementLossKind kind) -> void (*)(ElementLoss) {
  switch (kind) {
    case ElementLossKind::kBinaryCrossEntropy:
      return elements_kernel<ElementLossKind::kBinaryCrossEntropy>;
    case ElementLossKind::kSquaredError:
      return elements_kernel<ElementLossKind::kSquaredError>;
  }
  throw std::logic_error("no kernel is known for the loss of elements");
}

}  // namespace

void run(const ElementLoss& work, cudaStream_t stream) {
  const int64_t num_parts = num_loss_parts(work);
  launch_dependent(kernel_of(work.kind), static_cast<uint32_t>(num_parts), kElementThreads, 0, stream, work);
  if (num_parts > 1)
    launch_dependent(add_losses_kernel, 1, kPartThreads, 0, stream, work.results, num_parts, work.size);
  require_started("the kernel of binary cross-entropy or squared error");
}

}  // namespace rnnlab::kernels
