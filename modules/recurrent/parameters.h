// The names and shapes of a recurrent layer's parameters, PyTorch's in PyTorch's order, the same for every layer kind.
// Pure functions of the options; who allocates the tensors is the layer's affair.
#pragma once

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

}  // namespace rnnlab
