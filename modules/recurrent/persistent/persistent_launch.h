// The launches of a persistent pass (kernels/persistent/persistent_layer.h) on the current stream, from a layer's
// tensors.
#pragma once

#include <vector>

#include "recurrent/kernels/persistent/persistent_layer.h"
#include "recurrent/unrolled/step_runner.h"
#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// A flag that a kernel sets when a block timed out while it waited for another; the host reads it without waiting.

// Memory of the process that host and devices see; 0 as long as nothing happened.
int* timeout_flag();

// UserError kDevice, once, after a kernel timed out.
void throw_if_kernel_timed_out();

// Room for a layer's packed weights of each pass, on the current stream.
at::Tensor empty_forward_weights(const UnrolledSpec& spec, const LayerTrace& trace);
at::Tensor empty_backward_weights(const UnrolledSpec& spec, const LayerTrace& trace);

void pack_for_forward(const UnrolledSpec& spec, const LayerTrace& trace, const at::Tensor& packed);
void pack_for_backward(const UnrolledSpec& spec, const LayerTrace& trace, const at::Tensor& packed);

// Room for what a backward pass in so many parts sums up for the gradients of the biases, on the current stream:
// (parts, rows, sides, G * H).
at::Tensor empty_bias_sums(const UnrolledSpec& spec, const LayerTrace& trace, size_t num_parts);

// The groups of blocks of a layer's kernel in a forward pass.
kernels::PersistentGroups forward_groups(const UnrolledSpec& spec, const LayerTrace& trace);

// What a pass keeps busy (layer_parts.h): the whole GPU, for a rung whose layers work one after the other.
double forward_part_of_gpu(const UnrolledSpec& spec, const LayerTrace& trace);
double backward_part_of_gpu(const UnrolledSpec& spec, const LayerTrace& trace);

// All steps, from the inputs' products and the initial states in the trace.
void launch_forward(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& packed);

// What comes for the states after the last step, (B, H) each, `cell` acc: from steps that are read later, or from
// above; either may be undefined.
struct FinalGradients {
  at::Tensor hidden, cell;
};

// All steps, by the trace's packed weights: fills the gradients of both sides, of the initial states in
// `from_next_step` and `carry`, which may be those in `final`, and `bias_sums` and `largest` where they are defined.
void launch_backward(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients,
                     const FinalGradients& final);

}  // namespace rnnlab
