// The order in which layers of a stack are given parts of the steps, so that they work side by side.
#pragma once

#include <cstddef>

namespace rnnlab {

// Calls use(layer, part) along the diagonals, from the top layer down: what a layer waits for is then what the layer
// below it was given last. Backward the same with both counted from the other end.
template <class Use>
void along_diagonals(size_t num_layers, size_t num_parts, const Use& use) {
  for (size_t diagonal = 0; diagonal + 1 < num_layers + num_parts; ++diagonal)
    for (size_t layer = num_layers; layer-- > 0;)
      if (layer <= diagonal && diagonal - layer < num_parts) use(layer, diagonal - layer);
}

}  // namespace rnnlab
