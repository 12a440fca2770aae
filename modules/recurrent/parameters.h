// The names and shapes of a recurrent layer's parameters, PyTorch's in PyTorch's order, the same for every layer kind.
// Pure functions of the options; who allocates the tensors is the layer's affair.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "recurrent/recurrent_options.h"

namespace rnnlab {

enum class Direction { kForward, kReverse };

struct ParameterSpec {
  std::string name;            // "weight_ih_l0_reverse"
  std::vector<int64_t> shape;  // G gates: weight_ih (G * H, I or D * H), weight_hh (G * H, H), biases (G * H)
};

// Parameters of one direction of one layer.
inline constexpr size_t kParametersPerDirection = 4;

// weight_ih, weight_hh, bias_ih, bias_hh of layer 0 forward, layer 0 reverse, layer 1 forward ...
std::vector<ParameterSpec> parameter_specs(const RecurrentOptions& options);

// The parameters of one direction of one layer, ready for products.

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
