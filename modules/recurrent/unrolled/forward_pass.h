// The forward pass of a stack of layers of one direction, by the rules of one rung. Layer l + 1 reads the hidden states
// of layer l, times a dropout mask if there is one. Fills the traces; reads nothing back from the device.
#pragma once

#include <cstddef>
#include <vector>

#include "recurrent/unrolled/lanes.h"
#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// The order in which layers of a stack are given parts of the steps, so that they work side by side.

// Calls use(layer, part) along the diagonals, from the top layer down: what a layer waits for is then what the layer
// below it was given last. Backward the same with both counted from the other end.
template <class Use>
void along_diagonals(size_t num_layers, size_t num_parts, const Use& use) {
  for (size_t diagonal = 0; diagonal + 1 < num_layers + num_parts; ++diagonal)
    for (size_t layer = num_layers; layer-- > 0;)
      if (layer <= diagonal && diagonal - layer < num_parts) use(layer, diagonal - layer);
}

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
