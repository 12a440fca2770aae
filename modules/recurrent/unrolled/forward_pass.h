// The forward pass of a stack of layers of one direction, by the rules of one rung. Layer l + 1 reads the hidden states
// of layer l, times a dropout mask if there is one. Fills the traces; reads nothing back from the device.
#pragma once

#include <vector>

#include "recurrent/unrolled/lanes.h"
#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// `masks`: (T, B, H) each, between layer l and l + 1, or none at all. Of every trace, weights and the initial states
// are set; the first one's input too, dense.
void run_forward_pass(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks);

// How the steps of `num_steps` are grouped, and which lanes a layer works on. The backward pass takes the same, in
// reverse.
std::vector<Steps> groups_of_steps(const UnrolledSpec& spec, int64_t num_steps, size_t num_layers);
size_t recurrence_lane(const UnrolledSpec& spec, size_t layer);
size_t product_lane(const UnrolledSpec& spec, size_t layer);
size_t num_lanes(const UnrolledSpec& spec, size_t num_layers);

}  // namespace rnnlab
