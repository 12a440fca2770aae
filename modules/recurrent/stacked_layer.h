// What layers that compute one direction of one layer at a time have in common: the stack, both directions, dropout
// between layers, the slices of the initial state, lengths and autocast. An implementation supplies run_direction only.
#pragma once

#include "recurrent/parameters.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// The state of one direction of one layer.
struct StepState {
  at::Tensor hidden;  // (B, H)
  at::Tensor cell;    // (B, H), LSTM only
};

struct DirectionInput {
  at::Tensor sequence;  // (T, B, I) of this layer
  StepState initial;
  at::Tensor alive;  // (T, B, 1) bool: the step lies within the sequence's length; undefined when all do
  Direction direction = Direction::kForward;
};

struct DirectionResult {
  at::Tensor output;  // (T, B, H), zero where not alive
  StepState final;
};

class StackedLayer : public RecurrentLayer {
 protected:
  explicit StackedLayer(const RecurrentOptions& options) : RecurrentLayer(options) { register_uniform_parameters(); }

  virtual DirectionResult run_direction(const DirectionInput& input, const DirectionWeights& weights) = 0;

 private:
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) final;
};

}  // namespace rnnlab
