// The ladder from `grouped` to `wavefront`: layers that run their own loop over steps and their own back-propagation
// through time, by the rules of one rung (rung.h). Weights and results are those of every other layer. No
// reset_gate: before, and no second derivative.
#pragma once

#include <ATen/core/Tensor.h>

#include "recurrent/recurrent_layer.h"
#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// Sequences of their own lengths, for layers that can only run whole ones from the first step to the last: what lies
// beyond a length is cleared, a reverse direction reads a reversed copy, and the final states are picked afterwards.
// All differentiable.

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

class UnrolledLayer : public RecurrentLayer {
 public:
  // kind: a rung of the ladder that does not refuse the options.
  UnrolledLayer(LayerKind kind, const RecurrentOptions& options);

  LayerKind kind() const override { return kind_; }
  bool has_own_final_states() const override;

 private:
  // Layers that run as one: all of them side by side, or one after the other.
  struct Block {
    int64_t first_layer, num_layers;
  };

  // What a direction reads: (T, B, I), or rows of a table (V, I) by tokens (T, B).
  struct Sequence {
    at::Tensor rows;
    at::Tensor tokens = {};
  };

  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) override;
  bool begins_without_states() const override;
  bool reads_tokens(const at::Tensor& table, int64_t num_tokens) const override;
  RecurrentResult run_tokens(const at::Tensor& table, const at::Tensor& tokens, const RecurrentState& initial) override;
  std::vector<Block> blocks() const;
  RecurrentResult run_block(const Block& block, const at::Tensor& sequence, const RecurrentState& initial,
                            const SequenceEnds& lengths);
  RecurrentResult run_direction(const Block& block, Direction direction, const Sequence& sequence,
                                const RecurrentState& initial, const SequenceEnds& lengths);
  std::vector<at::Tensor> dropout_masks(const Block& block, const at::Tensor& sequence) const;

  LayerKind kind_;
};

}  // namespace rnnlab
