// The base class of layers that compute one direction of one layer at a time. It has the stack, both directions,
// dropout between layers, the slices of the initial state, lengths and autocast. An implementation supplies only
// run_direction.
#pragma once

#include "recurrent/cells/equations.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

struct DirectionInput {
  at::Tensor sequence;  // (T, B, I) of this layer
  CellStates initial;
  at::Tensor alive;  // (T, B, 1) bool: the step is within the sequence's length; undefined if all steps are
  Direction direction = Direction::kForward;
};

struct DirectionResult {
  at::Tensor output;  // (T, B, H), zero where not alive
  CellStates final;
};

class StackedLayer : public RecurrentLayer {
 protected:
  explicit StackedLayer(const RecurrentOptions& options) : RecurrentLayer(options) { register_uniform_parameters(); }

  // weights: of this direction of this layer, in the order of the cell's parameters and in product type.
  virtual DirectionResult run_direction(const DirectionInput& input, CellWeights weights) = 0;

 private:
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) final;
};

}  // namespace rnnlab
