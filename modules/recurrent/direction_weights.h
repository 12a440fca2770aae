// The parameters of one direction of one layer, ready for products.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "recurrent/parameters.h"

namespace rnnlab {

struct DirectionWeights {
  at::Tensor weight_ih;  // (G * H, I)
  at::Tensor weight_hh;  // (G * H, H)
  at::Tensor bias_ih;    // (G * H)
  at::Tensor bias_hh;    // (G * H)
};

// The type of autocast where that is on, and the tensor's elsewhere.
at::ScalarType product_type(const at::Tensor& tensor);

// The tensor in the type of autocast where that is on, and itself elsewhere. Autocast remembers the conversion of a
// parameter, but not of its slices: a loop that slices would convert them again at every step.
at::Tensor in_product_type(const at::Tensor& tensor);

// Of a layer's weights, in the order of parameter_specs: those of direction `index` (layer 0 forward, layer 0 reverse,
// layer 1 forward ...), as they are.
DirectionWeights parameters_of(const std::vector<at::Tensor>& weights, size_t index);

// The same in product type.
DirectionWeights direction_weights(const std::vector<at::Tensor>& weights, size_t index);

}  // namespace rnnlab
