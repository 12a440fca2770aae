// Cross-entropy on a GPU by own kernels, with a gradient: the loss and the count of right answers in one pass. Not
// differentiable twice.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

struct CrossEntropyResult {
  at::Tensor loss;       // () mean, differentiable in the logits
  at::Tensor num_right;  // () float32
};

// logits: (N, classes) float32, classes: (N) int64, both on one GPU that suit_own_kernels().
CrossEntropyResult cross_entropy_on_gpu(const at::Tensor& logits, const at::Tensor& classes);

}  // namespace rnnlab
