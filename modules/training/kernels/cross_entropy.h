// Cross-entropy of logits with classes: the mean loss, how many answers are right and the gradient, by two kernels
// where LibTorch takes ten. In a fixed order of addition.
#pragma once

#include <algorithm>
#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

struct CrossEntropy {
  const float* logits = nullptr;     // (rows, classes)
  const int64_t* classes = nullptr;  // (rows), each from 0 to num_classes - 1: another makes the loss NaN
  int64_t num_rows = 0;
  int64_t num_classes = 0;
  float* gradient = nullptr;   // (rows, classes) of the loss, or none
  float* parts = nullptr;      // (num_cross_entropy_parts(), 2): sums on the way
  float* loss = nullptr;       // ()
  float* num_right = nullptr;  // () rows whose largest logit, the first of equals, is the class's
};

inline constexpr int kCrossEntropyRowsAtOnce = 8;  // of a block
inline int64_t num_cross_entropy_parts(int64_t num_rows) {
  constexpr int64_t kMostParts = 1024;
  return std::min((num_rows + kCrossEntropyRowsAtOnce - 1) / kCrossEntropyRowsAtOnce, kMostParts);
}

// Queued on `stream`. Throws std::runtime_error with CUDA's words if a launch fails.
void run(const CrossEntropy& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
