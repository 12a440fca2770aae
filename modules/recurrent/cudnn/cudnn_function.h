// A plan's passes as one differentiable function of the input, the initial state and the weights. The weights' values
// come from cuDNN's weight space; the parameters themselves stand here for their gradients, which are views of one
// buffer.
#pragma once

#include <memory>

#include "recurrent/cudnn/rnn_plan.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// kForward where nothing needs a gradient or gradients are off, whatever the layer's mode.
Passes passes_of(const RnnOperands& operands, at::TensorList weights);

// operands: as RnnPlan wants them; gradients flow to input and states. weights: the parameters that operands.weights
// holds, in its type or in another, to which the gradients are then converted. The plan is one for
// passes_of(operands, weights).
RecurrentResult run_plan(const std::shared_ptr<const RnnPlan>& plan, const RnnOperands& operands,
                         at::TensorList weights);

}  // namespace rnnlab
