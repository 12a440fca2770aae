// SPDX-License-Identifier: Apache-2.0
// Computes a loss in float32 in one pass: the mean loss, the sum of its metric and the gradient. Cross-entropy takes
// two kernels (LibTorch launches ten). A loss whose targets have the outputs' shape takes one kernel for up to
// kElementsAtOnce elements and two for more (LibTorch launches up to fifteen). The order of addition is fixed. Weights
// of classes and of targets are left out.
#pragma once

#include <algorithm>
#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

// What the kernels of a loss write.
struct LossResults {
  float* gradient = nullptr;    // of the mean loss, in the outputs' shape; or null
  float* parts = nullptr;       // (num_loss_parts(), 2): partial sums
  float* loss = nullptr;        // () mean
  float* metric_sum = nullptr;  // ()
};

// The metric is 1 in rows whose largest logit (the first of equal ones) is that of the class, and else 0.
struct CrossEntropy {
  const float* logits = nullptr;     // (rows, classes)
  const int64_t* classes = nullptr;  // (rows), each from 0 to num_classes - 1; a different value makes the loss NaN
  int64_t num_rows = 0;
  int64_t num_classes = 0;  // fewer than 2^31
  LossResults results;
};

inline constexpr int kCrossEntropyRowsAtOnce = 8;  // in one block
inline int64_t num_loss_parts(const CrossEntropy& work) {
  constexpr int64_t kMostParts = 1024;
  return std::min((work.num_rows + kCrossEntropyRowsAtOnce - 1) / kCrossEntropyRowsAtOnce, kMostParts);
}

// kBinaryCrossEntropy takes logits x and any real targets t: softplus(x) - t x, with LibTorch's values for infinity.
// The metric is 1 where (x > 0) equals (t >= 0.5), and else 0. The metric of kSquaredError is the absolute error.
enum class ElementLossKind { kBinaryCrossEntropy, kSquaredError };

// The mean over all elements of a loss of one output and one target.
struct ElementLoss {
  ElementLossKind kind = ElementLossKind::kSquaredError;
  const float* outputs = nullptr;  // (size)
  const float* targets = nullptr;  // (size)
  int64_t size = 0;
  LossResults results;
};

inline constexpr int64_t kElementsAtOnce = 4096;  // in one block
inline int64_t num_loss_parts(const ElementLoss& work) {
  constexpr int64_t kFewestParts = 1, kMostParts = 256;
  return std::clamp((work.size + kElementsAtOnce - 1) / kElementsAtOnce, kFewestParts, kMostParts);
}

// Queue the work on `stream`. Throw std::runtime_error with CUDA's message if a launch fails.
void run(const CrossEntropy& work, CUstream_st* stream);
void run(const ElementLoss& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
