// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/bench_settings.h"

#include <fmt/format.h>

#include <filesystem>

#include "layers/cells/cell.h"
#include "layers/cells/cell_settings.h"

namespace rnnlab {
namespace {

// The elements of one layer, for all steps and sequences and both directions.
struct LayerSize {
  double inputs = 0;
  double outputs = 0;
  double gates = 0;
  double weights = 0;
  double products = 0;  // multiplications with a weight
};

double size_of(const ParameterSpec& spec) {
  double size = 1;
  for (const int64_t dimension : spec.shape) size *= static_cast<double>(dimension);
  return size;
}

LayerSize size_of_layer(const BenchCase& c, int64_t layer) {
  const auto directions = static_cast<double>(c.options.num_directions());
  const auto hidden = static_cast<double>(c.options.hidden_size);
  const double gates = static_cast<double>(num_gates(c.options.cell)) * hidden;
  const double inputs = layer == 0 ? static_cast<double>(c.options.input_size) : directions * hidden;
  double weights = 0, factors = 0;  // factors: the weights in matrices, each of which is multiplied at every step
  for (const ParameterSpec& spec : cell_parameters(c.options, static_cast<int64_t>(inputs))) {
    const double size = size_of(spec);
    weights += size;
    if (spec.shape.size() == 2) factors += size;
  }
  const double cells = static_cast<double>(c.num_steps) * static_cast<double>(c.batch_size);
  return {.inputs = cells * inputs,
          .outputs = cells * hidden * directions,
          .gates = cells * gates * directions,
          .weights = directions * weights,
          .products = cells * directions * factors};
}

LayerSize size_of_all(const BenchCase& c) {
  LayerSize all;
  for (int64_t layer = 0; layer < c.options.num_layers; ++layer) {
    const LayerSize one = size_of_layer(c, layer);
    all.inputs += one.inputs;
    all.outputs += one.outputs;
    all.gates += one.gates;
    all.weights += one.weights;
    all.products += one.products;
  }
  return all;
}

// Calls `use` with the index of each value of each list, the last list fastest.
template <class Use>
void for_each_index(const std::vector<size_t>& sizes, Use use) {
  size_t count = 1;
  for (const size_t size : sizes) count *= size;
  std::vector<size_t> index(sizes.size());
  for (size_t number = 0; number < count; ++number) {
    size_t rest = number;
    for (size_t i = sizes.size(); i-- > 0; rest /= sizes[i]) index[i] = rest % sizes[i];
    use(index);
  }
}

}  // namespace

BenchCell bench_cell(const std::string& name_or_file) {
  if (const auto cell = config::from_name<Cell>(name_or_file)) return {*cell, name_or_file};
  constexpr size_t kDigitsShown = 8;
  const CellSettings settings = read_cell_file(name_or_file);
  const Cell cell = own_cell(settings.text()).value();
  if (!is_own(cell)) return {cell, cell_name(cell)};
  const bool has_name = settings.name != CellSettings().name;
  const std::string name = has_name ? settings.name : std::filesystem::path(name_or_file).stem().string();
  return {cell, fmt::format("{} {}", name, program_of(cell).hash.substr(0, kDigitsShown))};
}

std::vector<size_t> grid_sizes(const BenchSettings& s) {
  return {s.device.size(),      s.mode.size(),       s.precision.size(), s.cell.size(),      s.cudnn_algorithm.size(),
          s.hidden_size.size(), s.batch_size.size(), s.num_steps.size(), s.num_layers.size()};
}

std::vector<BenchCase> expand_grid(const BenchSettings& s) {
  std::vector<BenchCase> all;
  std::vector<BenchCell> cells;
  for (const std::string& one : s.cell) cells.push_back(bench_cell(one));
  for_each_index(grid_sizes(s), [&](const std::vector<size_t>& i) {
    const int64_t hidden_size = s.hidden_size[i[5]];
    const BenchCell& cell = cells[i[3]];
    all.push_back({.device = s.device[i[0]],
                   .mode = s.mode[i[1]],
                   .precision = s.precision[i[2]],
                   .options = {.cell = cell.cell,
                               .input_size = s.input_size.value_or(hidden_size),
                               .hidden_size = hidden_size,
                               .num_layers = s.num_layers[i[8]],
                               .bidirectional = s.bidirectional,
                               .heads = s.heads,
                               .cudnn_algorithm = s.cudnn_algorithm[i[4]]},
                   .batch_size = s.batch_size[i[6]],
                   .num_steps = s.num_steps[i[7]],
                   .starts = s.starts,
                   .own_cell = is_own(cell.cell) ? cell.name : ""});
  });
  return all;
}

double forward_flops(const BenchCase& combination) { return 2 * size_of_all(combination).products; }

LeastBytes least_bytes(const BenchCase& combination) {
  const LayerSize size = size_of_all(combination);
  // Autocast also reads the weights in float32 once; this is left out.
  const auto bytes = static_cast<double>(element_bytes(combination.precision));
  return {.forward = bytes * (size.weights + size.inputs + size.outputs + size.gates),
          .backward_data = bytes * (size.weights + 2 * size.gates + size.outputs + size.inputs),
          .backward_weights = bytes * (size.gates + size.inputs + size.outputs + size.weights)};
}

int64_t num_layer_steps(const BenchCase& combination) {
  return combination.num_steps * combination.options.num_layers * combination.options.num_directions();
}

}  // namespace rnnlab
