// A stack as what a library is called for. Libraries run whole stacks at once, but draw the dropout between layers from
// random states of their own, which neither a seed nor a CUDA graph's replay reaches: a stack with dropout is therefore
// run layer by layer, with LibTorch's own dropout in between.
#pragma once

#include <functional>
#include <vector>

#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// One group for each layer where there is dropout between layers, else one for the whole stack. No group has dropout of
// its own, and the parameters of all groups in order are those of the stack.
std::vector<RecurrentOptions> layer_groups(const RecurrentOptions& options);

using RunGroup = std::function<RecurrentResult(size_t group, const at::Tensor& input, const RecurrentState& initial)>;

// Runs all groups, each on the output of the one before, with `dropout` (the probability of a zero) in between.
// input, initial and result: of the whole stack, as in RecurrentLayer::run.
RecurrentResult run_groups(const std::vector<RecurrentOptions>& groups, double dropout, const at::Tensor& input,
                           const RecurrentState& initial, const RunGroup& run);

}  // namespace rnnlab
