// Room for the gradients of a backward pass, layer by layer, which every pass of traces fills in its own way. Made on
// the current stream, where it is used and freed, and not on a lane that fills it.
#pragma once

#include <vector>

#include "recurrent/unrolled/backward_pass.h"

namespace rnnlab {

// Each layer's outputs get what the layer above gets for its inputs. Without `carry`.
std::vector<LayerGradients> empty_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                            const ResultGradients& results, Needs needs);

// None where nobody needs them.
std::vector<WeightGradients> empty_weight_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                                    Needs needs);

}  // namespace rnnlab
