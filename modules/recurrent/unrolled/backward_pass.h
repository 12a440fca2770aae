// Back-propagation through time (Werbos 1990) of what run_forward_pass did, by the rules of the same rung. In the loop
// over steps there is only what a step waits for; the gradient of each weight is one product over all steps and
// sequences at the end.
#pragma once

#include <vector>

#include "recurrent/unrolled/weight_gradients.h"

namespace rnnlab {

struct InitialGradients {
  at::Tensor hidden;  // (B, H)
  at::Tensor cell;    // (B, H) acc, LSTM only
};

struct PassGradients {
  at::Tensor input;                       // (T, B, I), or undefined if nobody needs it
  std::vector<InitialGradients> initial;  // layer by layer
  std::vector<WeightGradients> weights;   // layer by layer, or empty if nobody needs them
};

struct Needs {
  bool input = true;
  bool weights = true;
};

// What comes from above, layer by layer: of the hidden and the cell states as results, (T, B, H) each; any may be
// undefined. For one_kernel of the final states, too.
struct ResultGradients {
  std::vector<at::Tensor> hidden;
  std::vector<at::Tensor> cell;
  at::Tensor final_hidden, final_cell;  // (L, B, H)
};

// `layers`: as run_forward_pass has filled them; they are left as they are. `masks`: those of the forward pass, (T, B,
// H) each, between layer l and l + 1, or none at all. What is defined of `results` must be dense.
PassGradients run_backward_pass(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                const std::vector<at::Tensor>& masks, const ResultGradients& results, Needs needs);

// Room for the gradients of a backward pass, layer by layer, which every pass of traces fills in its own way. Made on
// the current stream, where it is used and freed, and not on a lane that fills it.

// Each layer's outputs get what the layer above gets for its inputs. Without `carry`.
std::vector<LayerGradients> empty_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                            const ResultGradients& results, Needs needs);

// None where nobody needs them.
std::vector<WeightGradients> empty_weight_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                                    Needs needs);

}  // namespace rnnlab
