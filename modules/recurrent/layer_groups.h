// Splits a stack into the groups that are passed to a library in one call. Libraries run whole stacks at once, but draw
// the dropout between layers from random states of their own, which neither a seed nor the replay of a CUDA graph
// controls. So a stack with dropout runs layer by layer, with LibTorch's own dropout in between.
#pragma once

#include <functional>
#include <vector>

#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// Returns one group for each layer if there is dropout between layers, otherwise one group for the whole stack. No
// group has its own dropout. The parameters of all groups in order are those of the stack.
std::vector<RecurrentOptions> layer_groups(const RecurrentOptions& options);

using RunGroup = std::function<RecurrentResult(size_t group, const at::Tensor& input, const RecurrentState& initial)>;

// Runs all groups, each on the output of the previous group, with `dropout` (the probability of a zero) in between.
// input, initial and result belong to the whole stack, as in RecurrentLayer::run.
RecurrentResult run_groups(const std::vector<RecurrentOptions>& groups, double dropout, const at::Tensor& input,
                           const RecurrentState& initial, const RunGroup& run);

}  // namespace rnnlab
