// The names and shapes of a recurrent layer's parameters, for the cells of libraries PyTorch's in PyTorch's order, the
// same for every layer kind. Pure functions of the options; the layer allocates the tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "recurrent/cells/cell.h"

namespace rnnlab {

enum class Direction { kForward, kReverse };

// The parameters of the cell, each name with the layer's number and direction: of layer 0 forward, layer 0 reverse,
// layer 1 forward ... For the cells of libraries weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 ...
std::vector<ParameterSpec> parameter_specs(const RecurrentOptions& options);

// Parameters of one direction of one layer of a library's cell.
inline constexpr size_t kParametersPerDirection = 4;

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

// Of the weights of a layer with a library's cell, in the order of parameter_specs: those of direction `index` (layer 0
// forward, layer 0 reverse, layer 1 forward ...), as they are.
DirectionWeights parameters_of(const std::vector<at::Tensor>& weights, size_t index);

// The same in product type.
DirectionWeights direction_weights(const std::vector<at::Tensor>& weights, size_t index);

}  // namespace rnnlab
