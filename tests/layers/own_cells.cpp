// SPDX-License-Identifier: Apache-2.0
#include "layers/own_cells.h"

#include <fmt/format.h>

#include "layers/cells/cell_settings.h"

namespace rnnlab {

Cell cell_of_file(const std::string& name) {
  return own_cell(read_cell_file(fmt::format("{}/experiments/cells/{}.yaml", RNNLAB_SOURCE_DIR, name)).text()).value();
}

Cell cell_with(std::vector<std::string> gates, std::vector<std::string> states, std::string equations, Biases biases) {
  CellText text;
  text.gates = std::move(gates);
  text.states = std::move(states);
  text.equations = std::move(equations);
  text.biases = biases;
  return own_cell(text).value();
}

}  // namespace rnnlab
