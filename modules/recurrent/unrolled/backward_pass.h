// Declares back-propagation through time (Werbos 1990) of run_forward_pass, by the same variant. The loop
// over steps contains only what a step must wait for. The gradient of each weight is one product over all steps and
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
  at::Tensor input;                       // (T, B, I), or undefined if it is not needed
  std::vector<InitialGradients> initial;  // layer by layer
  std::vector<WeightGradients> weights;   // layer by layer, or empty if they are not needed
};

struct Needs {
  bool input = true;
  bool weights = true;
};

// Holds the gradients of the hidden and the cell states as results, layer by layer, (T, B, H) each; any may be
// undefined. Persistent layers also read the gradients of the final states.
struct ResultGradients {
  std::vector<at::Tensor> hidden;
  std::vector<at::Tensor> cell;
  at::Tensor final_hidden, final_cell;  // (L, B, H)
};

// `layers`: as filled by run_forward_pass; they are not changed. `masks`: those of the forward pass, (T, B, H) each,
// between layer l and l + 1, or none. All defined tensors of `results` must be dense.
PassGradients run_backward_pass(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                const std::vector<at::Tensor>& masks, const ResultGradients& results, Needs needs);

// These functions allocate the gradients of a backward pass, layer by layer, which every backward pass fills in its own
// way. They allocate on the current stream, where the tensors are used and freed, and not on the lane that fills them.

// The gradient of each layer's outputs is the gradient of the inputs of the layer above. `carry` stays undefined.
std::vector<LayerGradients> empty_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                            const ResultGradients& results, Needs needs);

// Returns no gradients if they are not needed.
std::vector<WeightGradients> empty_weight_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                                    Needs needs);

}  // namespace rnnlab
