// SPDX-License-Identifier: Apache-2.0
// Computes a loss, its gradient and its metric at once: cross-entropy of classes by two kernels (LibTorch launches
// ten), and losses of numbers by one or two (LibTorch launches up to 15). The order of addition is fixed.
#pragma once

#include <algorithm>
#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

// What both kinds of losses write.
struct LossOutputs {
  float* gradient = nullptr;  // of the loss, in the shape of the logits or outputs, or null
  float* parts = nullptr;     // (number of parts, 2): partial sums
  float* loss = nullptr;      // () the mean
  float* metric = nullptr;    // () a sum
};

struct CrossEntropy {
  const float* logits = nullptr;     // (rows, classes)
  const int64_t* classes = nullptr;  // (rows), each from 0 to num_classes - 1; a different value makes the loss NaN
  int64_t num_rows = 0;
  int64_t num_classes = 0;
  LossOutputs results;  // metric: rows whose largest logit (the first of equal ones) is that of the class
};

// With the logit or output x and the target t.
enum class NumberLossKind : uint8_t {
  kBinaryCrossEntropy,  // softplus(x) - t x; metric: how often x > 0 equals t >= 0.5
  kSquaredError         // (x - t)^2; metric: the sum of |x - t|
};

struct NumberLoss {
  NumberLossKind kind = NumberLossKind::kSquaredError;
  const float* outputs = nullptr;  // (size)
  const float* targets = nullptr;  // (size), any numbers
  int64_t size = 0;                // at least 1
  LossOutputs results;
};

// Return how many parts the sums have.
inline constexpr int kCrossEntropyRowsAtOnce = 8;  // in one block
inline constexpr int64_t kNumbersOfLossPart = 4096;
inline int64_t num_loss_parts(int64_t size, int64_t size_of_part) {
  constexpr int64_t kMostParts = 1024;
  return std::min((size + size_of_part - 1) / size_of_part, kMostParts);
}
inline int64_t num_parts_of(const CrossEntropy& work) { return num_loss_parts(work.num_rows, kCrossEntropyRowsAtOnce); }
inline int64_t num_parts_of(const NumberLoss& work) { return num_loss_parts(work.size, kNumbersOfLossPart); }

// Queue the work on `stream`. Throw std::runtime_error with CUDA's message if a launch fails.
void run(const CrossEntropy& work, CUstream_st* stream);
void run(const NumberLoss& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
