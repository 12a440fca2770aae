// Declares the forward pass of a stack of layers of one direction, by one variant (trace.h). Layer l + 1 reads the
// hidden states of layer l, multiplied by a dropout mask if there is one. The pass fills the traces and does not read
// from the device.
#pragma once

#include <cstddef>
#include <vector>

#include "recurrent/unrolled/lanes.h"
#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// Calls use(layer, part) along the diagonals, from the top layer down, so that the layers of a stack work at the same
// time: the part for which a layer waits is the part that the layer below received last. The backward pass uses the
// same order with both indices counted from the other end.
template <class Use>
void along_diagonals(size_t num_layers, size_t num_parts, const Use& use) {
  for (size_t diagonal = 0; diagonal + 1 < num_layers + num_parts; ++diagonal)
    for (size_t layer = num_layers; layer-- > 0;)
      if (layer <= diagonal && diagonal - layer < num_parts) use(layer, diagonal - layer);
}

// `masks`: (T, B, H) each, between layer l and l + 1, or none. Every trace must have its weights and initial states,
// and the first trace a dense input.
void run_forward_pass(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks);

// These functions group the `num_steps` steps and return the lanes of a layer. The backward pass uses the same groups
// in reverse.
std::vector<Steps> groups_of_steps(const UnrolledSpec& spec, int64_t num_steps, size_t num_layers);
size_t recurrence_lane(const UnrolledSpec& spec, size_t layer);
size_t product_lane(const UnrolledSpec& spec, size_t layer);
size_t num_lanes(const UnrolledSpec& spec, size_t num_layers);

}  // namespace rnnlab
