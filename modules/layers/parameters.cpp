// SPDX-License-Identifier: Apache-2.0
#include "layers/parameters.h"

#include <ATen/autocast_mode.h>
#include <fmt/format.h>

namespace rnnlab {

std::vector<ParameterSpec> parameter_specs(const RecurrentOptions& options) {
  std::vector<ParameterSpec> specs;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    const int64_t columns = layer == 0 ? options.input_size : options.hidden_size * options.num_directions();
    for (int64_t direction = 0; direction < options.num_directions(); ++direction) {
      const std::string suffix = fmt::format("_l{}{}", layer, direction == 0 ? "" : "_reverse");
      for (const ParameterSpec& spec : cell_parameters(options, columns))
        specs.push_back({spec.name + suffix, spec.shape});
    }
  }
  return specs;
}

at::ScalarType product_type(const at::Tensor& tensor) {
  const auto device = tensor.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device) : tensor.scalar_type();
}

at::Tensor in_product_type(const at::Tensor& tensor) {
  const auto device = tensor.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return tensor;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), tensor, device);
}

DirectionWeights parameters_of(const std::vector<at::Tensor>& weights, size_t index) {
  const at::Tensor* first = weights.data() + index * kParametersPerDirection;
  return {first[0], first[1], first[2], first[3]};
}

DirectionWeights direction_weights(const std::vector<at::Tensor>& weights, size_t index) {
  const auto [weight_ih, weight_hh, bias_ih, bias_hh] = parameters_of(weights, index);
  return {in_product_type(weight_ih), in_product_type(weight_hh), in_product_type(bias_ih), in_product_type(bias_hh)};
}

}  // namespace rnnlab
