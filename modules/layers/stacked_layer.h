// SPDX-License-Identifier: Apache-2.0
// Two ways to run a stack of layers. StackedLayer is the base class of layers that compute one direction of one layer
// at a time. It has the stack, both directions, dropout between layers, the slices of the initial state, lengths and
// autocast. An implementation supplies only run_direction. layer_groups splits a stack into the groups that are passed
// to a library in one call.
#pragma once

#include <functional>
#include <vector>

#include "layers/program/tensor_program.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {

struct DirectionInput {
  at::Tensor sequence;  // (T, B, I) of this layer
  CellStates initial;
  at::Tensor alive;  // (T, B, 1) bool: the step is within the sequence's length; undefined if all steps are
  Direction direction = Direction::kForward;
  at::Tensor lengths;  // (B) int64 on the CPU; undefined if every sequence is whole
  at::Tensor starts;   // (T, B, 1) bool: starts_in_order of the direction, or undefined
  StatesOf states = StatesOf::kLastStep;
};

struct DirectionResult {
  at::Tensor output;  // (T, B, H), zero where not alive
  CellStates final;
  CellStates all = {};  // as `output`, if they were asked for
};

class StackedLayer : public RecurrentLayer {
 protected:
  explicit StackedLayer(const RecurrentOptions& options) : RecurrentLayer(options) {}

  // weights: of this direction of this layer, in the order of the cell's parameters and in product type.
  virtual DirectionResult run_direction(const DirectionInput& input, CellWeights weights) = 0;

 private:
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                      StatesOf states) final;
};

// Returns one group for each layer if there is dropout between layers, otherwise one group for the whole stack. No
// group has its own dropout. The parameters of all groups in order are those of the stack.
std::vector<RecurrentOptions> layer_groups(const RecurrentOptions& options);

using RunLayerGroup =
    std::function<RecurrentResult(size_t group, const at::Tensor& input, const RecurrentState& initial)>;

// Runs all groups, each on the output of the previous group, with `dropout` (the probability of a zero) in between.
// input, initial and result belong to the whole stack, as in RecurrentLayer::run.
RecurrentResult run_groups(const std::vector<RecurrentOptions>& groups, double dropout, const at::Tensor& input,
                           const RecurrentState& initial, const RunLayerGroup& run);

}  // namespace rnnlab
