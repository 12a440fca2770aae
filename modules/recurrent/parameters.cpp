#include "recurrent/parameters.h"

#include <fmt/format.h>

namespace rnnlab {

std::vector<ParameterSpec> parameter_specs(const RecurrentOptions& options) {
  const int64_t rows = num_gates(options.cell) * options.hidden_size;
  std::vector<ParameterSpec> specs;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    const int64_t columns = layer == 0 ? options.input_size : options.hidden_size * options.num_directions();
    for (int64_t direction = 0; direction < options.num_directions(); ++direction) {
      const std::string suffix = fmt::format("_l{}{}", layer, direction == 0 ? "" : "_reverse");
      specs.push_back({"weight_ih" + suffix, {rows, columns}});
      specs.push_back({"weight_hh" + suffix, {rows, options.hidden_size}});
      specs.push_back({"bias_ih" + suffix, {rows}});
      specs.push_back({"bias_hh" + suffix, {rows}});
    }
  }
  return specs;
}

}  // namespace rnnlab
