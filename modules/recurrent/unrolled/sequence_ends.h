// Sequences of their own lengths, for layers that can only run whole ones from the first step to the last: what lies
// beyond a length is cleared, a reverse direction reads a reversed copy, and the final states are picked afterwards.
// All differentiable.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

class SequenceEnds {
 public:
  // lengths: (B) int64 on the CPU, or undefined: every sequence is whole.
  SequenceEnds(const at::Tensor& lengths, int64_t num_steps, at::Device device);

  bool all_whole() const { return !alive_.defined(); }

  // (T, B, N) with zeros beyond each length.
  at::Tensor cleared(const at::Tensor& sequence) const;

  // (T, B, N) with each sequence's own steps in reverse order; its own inverse.
  at::Tensor reversed(const at::Tensor& sequence) const;

  // (B, N): the last step of each sequence.
  at::Tensor last(const at::Tensor& sequence) const;

 private:
  at::Tensor alive_;     // (T, B, 1) bool
  at::Tensor reversal_;  // (T, B, 1) int64
  at::Tensor last_;      // (1, B, 1) int64
};

}  // namespace rnnlab
