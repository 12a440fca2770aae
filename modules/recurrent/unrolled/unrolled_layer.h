// The ladder from `grouped` to `wavefront`: layers that run their own loop over steps and their own back-propagation
// through time, by the rules of one rung (rung.h). Weights and results are those of every other layer. No
// reset_gate: before, and no second derivative.
#pragma once

#include "recurrent/recurrent_layer.h"
#include "recurrent/unrolled/sequence_ends.h"
#include "recurrent/unrolled/trace.h"

namespace rnnlab {

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
