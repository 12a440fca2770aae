// SPDX-License-Identifier: Apache-2.0
// Computes the cross-entropy of logits and classes: the mean loss, the number of correct answers and the gradient, by
// two kernels (LibTorch launches ten). The order of addition is fixed.
#pragma once

#include <algorithm>
#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

struct CrossEntropy {
  const float* logits = nullptr;     // (rows, classes)
  const int64_t* classes = nullptr;  // (rows), each from 0 to num_classes - 1; a different value makes the loss NaN
  int64_t num_rows = 0;
  int64_t num_classes = 0;
  float* gradient = nullptr;   // (rows, classes) of the loss, or null
  float* parts = nullptr;      // (num_cross_entropy_parts(), 2): partial sums
  float* loss = nullptr;       // ()
  float* num_right = nullptr;  // () rows whose largest logit (the first of equal ones) is that of the class
};

inline constexpr int kCrossEntropyRowsAtOnce = 8;  // in one block
inline int64_t num_cross_entropy_parts(int64_t num_rows) {
  constexpr int64_t kMostParts = 1024;
  return std::min((num_rows + kCrossEntropyRowsAtOnce - 1) / kCrossEntropyRowsAtOnce, kMostParts);
}

// Queues the work on `stream`. Throws std::runtime_error with CUDA's message if a launch fails.
void run(const CrossEntropy& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
