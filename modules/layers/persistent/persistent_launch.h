// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of a persistent pass (kernels/persistent/persistent_layer.h) on the current stream, from a
// layer's tensors.
#pragma once

#include <vector>

#include "layers/persistent/persistent_trace.h"

namespace rnnlab {

// Returns a flag that a kernel sets if a block times out while it waits for another block; otherwise 0. The flag is in
// memory that the host and all devices see, so the host reads it without waiting.
int* timeout_flag();

// Throws UserError kDevice, once, after a kernel timed out.
void throw_if_kernel_timed_out();

// Returns the current stream of the tensor's GPU.
CUstream_st* stream_of(const at::Tensor& tensor);

kernels::RecurrentWeights weights_of(const at::Tensor& weight_hh);

template <class T>
const T* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}

// Allocate a layer's packed weights of each pass, on the current stream.
at::Tensor empty_forward_weights(const PersistentSpec& spec, const PersistentTrace& trace);
at::Tensor empty_backward_weights(const PersistentSpec& spec, const PersistentTrace& trace);

// trace: that of the lower layer for a pair. weight: weight_hh, or weight_ih of the upper layer of a pair.
void pack_for_forward(const PersistentSpec& spec, const PersistentTrace& trace, const at::Tensor& weight,
                      const at::Tensor& packed);
void pack_for_backward(const PersistentSpec& spec, const PersistentTrace& trace, const at::Tensor& weight,
                       const at::Tensor& packed);

// Allocates the sums for the gradients of biases and vectors in a backward pass of `num_parts` parts, on the current
// stream: (parts, rows, (sides * G + V) * H).
at::Tensor empty_bias_sums(const PersistentSpec& spec, const PersistentTrace& trace, size_t num_parts);

// Returns whether the layer's kernel can write gates' gradients as float16 with exponents.
bool writes_half_gradients(const PersistentSpec& spec, const PersistentTrace& trace);

// Returns whether a pass runs pairs of its layers, each by one kernel: the first and the second layer, the third and
// the fourth, and so on. More than two layers overlap more in parts (layer_parts.h), and layers of up to 96 units are
// faster in parts.
bool runs_pairs(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers);

// Returns whether the kernel of a forward pass computes W x of the layer's input, from weight_ih_of_kernel.
bool multiplies_input(const PersistentSpec& spec, const PersistentTrace& trace);

// Returns whether the trace has no initial states, so that such a kernel sets them to 0.
inline bool lacks_all_states(const PersistentTrace& trace) {
  return trace.lacks_hidden && (trace.lacks_cell || !trace.cell.defined());
}

// Returns the groups of blocks of a layer's kernel in a forward pass.
kernels::PersistentGroups forward_groups(const PersistentSpec& spec, const PersistentTrace& trace);

// Return the part of the GPU that a pass uses (layer_parts.h): the whole GPU for kernels whose layers work one after
// another.
double forward_part_of_gpu(const PersistentSpec& spec, const PersistentTrace& trace);
double backward_part_of_gpu(const PersistentSpec& spec, const PersistentTrace& trace);

// Runs all steps, from the inputs, their products or those of the table, and the initial states in the trace, if it has
// them.
void launch_forward(const PersistentSpec& spec, PersistentTrace& trace, const at::Tensor& packed);

// Holds what a pair of layers has besides two traces. The mask of the dropout between them, (T, B, H) bool, is
// undefined without dropout.
struct PairOfLayers {
  at::Tensor packed_input;  // weight_ih of the upper layer, packed for the pass
  at::Tensor mask;
};

// Runs all steps of both layers of a pair. With dropout it also writes the input of the upper layer.
void launch_forward(const PersistentSpec& spec, PersistentTrace& lower, const at::Tensor& packed_lower,
                    PersistentTrace& upper, const at::Tensor& packed_upper, const PairOfLayers& pair);

// Holds the gradients of the states after the last step, (B, H) each, `cell` acc: from steps that are read later, or
// from the results of the pass; either may be undefined.
struct FinalGradients {
  at::Tensor hidden, cell;
};

// Runs all steps with the trace's packed weights. Writes the gradients of both sides, and of the initial states in
// `from_next_step` and `carry`, which may be the tensors in `final`; and `bias_sums` and `largest` if they are defined.
void launch_backward(const PersistentSpec& spec, const PersistentTrace& trace, PersistentGradients& gradients,
                     const FinalGradients& final);

// Runs all steps of both layers of a pair. `output` of the lower layer has only the gradients of results.
struct LayerOfPair {
  const PersistentTrace& trace;
  PersistentGradients& gradients;
  FinalGradients final;
};
void launch_backward(const PersistentSpec& spec, const LayerOfPair& lower, const LayerOfPair& upper,
                     const at::Tensor& mask);

}  // namespace rnnlab
