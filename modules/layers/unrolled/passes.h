// SPDX-License-Identifier: Apache-2.0
// Declares the passes of the unrolled layers: the loop over steps of a stack of layers of one direction, forward, and
// back-propagation through time (Werbos 1990). A variant (trace.h) states the optimisations of both. A pass fills or
// reads the traces and does not read from the device. The loops contain only what a step must wait for: the gradient of
// each weight is one product over all steps and sequences at the end.
#pragma once

#include <cstddef>
#include <vector>

#include "layers/execution_path.h"
#include "layers/unrolled/step_runner.h"
#include "layers/unrolled/trace.h"

namespace rnnlab {

struct UnrolledInput {
  at::Tensor sequence;                   // (T, B, I)
  at::Tensor hidden;                     // (L, B, H)
  at::Tensor cell;                       // (L, B, inner * H) acc: the inner states, if the cell has them
  std::vector<DirectionWeights> layers;  // L, in the type of the sequence
  std::vector<at::Tensor> masks;         // (T, B, H) each, L - 1 masks, or empty: factors of the next layer's input
};

// Contains all states of each layer, (T, B, H) each: the states after each step, at the step's position in the
// sequence.
struct UnrolledResult {
  std::vector<at::Tensor> hidden;
  std::vector<at::Tensor> cell;  // (T, B, inner * H) acc, if the cell has inner states
};

// Runs the passes of the variant as one autograd function, which does not see the steps or their intermediate results.
// The result is differentiable once, with respect to the sequence, the initial states and the weights, but not the
// masks. Autocast is off inside: all tensors must have the type of the sequence, or the accumulation type if marked
// with acc.
UnrolledResult run_unrolled(const UnrolledSpec& spec, const UnrolledInput& input);

// ---- the forward pass ----

// Calls use(layer, part) along the diagonals, from the top layer down, so that the layers of a stack work at the same
// time: the part for which a layer waits is the part that the layer below received last. The backward pass uses the
// same order with both indices counted from the other end.
template <class Use>
void along_diagonals(size_t num_layers, size_t num_parts, const Use& use) {
  for (size_t diagonal = 0; diagonal + 1 < num_layers + num_parts; ++diagonal)
    for (size_t layer = num_layers; layer-- > 0;)
      if (layer <= diagonal && diagonal - layer < num_parts) use(layer, diagonal - layer);
}

// Layer l + 1 reads the hidden states of layer l, multiplied by a dropout mask if there is one.
// `masks`: (T, B, H) each, between layer l and l + 1, or empty. Every trace must have its weights and initial states,
// and the first trace a dense input.
void run_forward_pass(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks);

// These functions group the `num_steps` steps and return the indices of a layer's streams (stream_set.h). The backward
// pass uses the same groups in reverse.
std::vector<Steps> groups_of_steps(const UnrolledSpec& spec, int64_t num_steps, size_t num_layers);
size_t recurrence_stream(const UnrolledSpec& spec, size_t layer);
size_t product_stream(const UnrolledSpec& spec, size_t layer);
size_t num_streams(const UnrolledSpec& spec, size_t num_layers);

// ---- the backward pass ----

struct WeightGradients {
  at::Tensor weight_ih, weight_hh, bias_ih, bias_hh;  // the biases may be one tensor
  at::Tensor vectors = {};
};

// Allocates the gradients on the current stream.
WeightGradients empty_weight_gradients(const PassSpec& spec, const LayerTrace& trace);

// Computes all gradients.
void multiply_weight_gradients(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                               WeightGradients& weights);

struct InitialGradients {
  at::Tensor hidden;  // (B, H)
  at::Tensor cell;    // (B, inner * H) acc, if the cell has inner states
};

using Allocate = at::Tensor (*)(at::IntArrayRef shape, const at::TensorOptions& options);
at::Tensor empty_tensor(at::IntArrayRef shape, const at::TensorOptions& options);

// Allocates the gradients of both sides and of the learned vectors for a number of steps.
void set_sides(LayerGradients& gradients, const PassSpec& spec, const LayerTrace& trace, int64_t num_steps,
               Allocate allocate);

// Returns memory for the gradients of the learned vectors alone; undefined if the cell has none.
at::Tensor empty_vector_gradients(const PassSpec& spec, const LayerTrace& trace, int64_t num_steps, Allocate allocate);

// Returns the carry of a backward pass, with zeros; undefined if the cell needs none.
at::Tensor make_carry(const UnrolledSpec& spec, const LayerTrace& trace);

// Returns the gradients of the initial states. from_next_step: (B, H), through the product of the first step.
InitialGradients initial_gradients(const UnrolledSpec& spec, const at::Tensor& from_next_step, const at::Tensor& carry);

struct PassGradients {
  at::Tensor input;                       // (T, B, I), or undefined if it is not needed
  std::vector<InitialGradients> initial;  // layer by layer
  std::vector<WeightGradients> weights;   // layer by layer, or empty if they are not needed
};

struct NeededGradients {
  bool input = true;
  bool weights = true;
};

using ResultGradients = UnrolledResult;  // of the hidden and the cell states as results; any may be undefined

// `layers`: as filled by run_forward_pass; they are not changed. `masks`: those of the forward pass, (T, B, H) each,
// between layer l and l + 1, or empty. All defined tensors of `results` must be dense.
PassGradients run_backward_pass(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                NeededGradients needs);

// ---- the passes over diagonals ----

// These functions are the passes of `diagonal`. As in a wavefront, layer l works on step d - l while layer 0 works on
// step d. Here all layers on a diagonal d share one batched product and one point-wise kernel, because a GPU takes
// longer to start kernels of this size than to run them. One product multiplies the hidden state that a layer has just
// computed by the layer's recurrent weights and by the input weights of the layer above. The backward pass multiplies
// the gradients of the gates in the same way. They support cells whose gates are read as sums of both sides,
// the forward direction, and no dropout between layers.

bool can_run_diagonal(const UnrolledSpec& spec, size_t num_layers, const std::vector<at::Tensor>& masks);

// Returns what a run records about these passes.
ExecutionPath diagonal_path();

// These functions have the contracts of run_forward_pass and run_backward_pass. The layers' `hidden` must lie one after
// the other in one piece of memory.
void run_diagonal_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers);
PassGradients run_diagonal_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                    const ResultGradients& results, NeededGradients needs);

}  // namespace rnnlab
