// SPDX-License-Identifier: Apache-2.0
#include "layers/parameters.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/cat.h>
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

DirectionWeights parameters_of(const CellProgram& cell, const std::vector<at::Tensor>& weights, size_t index) {
  const bool has_hidden = cell.num_hidden_gates() > 0;
  const size_t num_before_vectors = size_t{2} + (has_hidden ? 1 : 0) + (cell.has_hidden_biases() ? 1 : 0);
  const at::Tensor* next = weights.data() + index * (num_before_vectors + cell.vectors.size());
  DirectionWeights all;
  all.weight_ih = *next++;
  if (has_hidden) all.weight_hh = *next++;
  all.bias_ih = *next++;
  if (cell.has_hidden_biases()) all.bias_hh = *next++;
  if (cell.vectors.empty()) return all;
  const at::TensorList vectors(next, cell.vectors.size());
  all.vectors = vectors.size() == 1 ? vectors[0] : at::cat(vectors);
  return all;
}

DirectionWeights direction_weights(const CellProgram& cell, const std::vector<at::Tensor>& weights, size_t index) {
  DirectionWeights all = parameters_of(cell, weights, index);
  for (at::Tensor* tensor : {&all.weight_ih, &all.weight_hh, &all.bias_ih, &all.bias_hh, &all.vectors})
    if (tensor->defined()) *tensor = in_product_type(*tensor);
  return all;
}

}  // namespace rnnlab
