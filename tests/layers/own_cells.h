// SPDX-License-Identifier: Apache-2.0
// Cells of users for tests: those of experiments/cells, and others that are written as equations.
#pragma once

#include <string>
#include <vector>

#include "layers/cells/cell.h"

namespace rnnlab {

// Returns the cell of experiments/cells/NAME.yaml.
Cell cell_of_file(const std::string& name);

// Returns the cell with these equations, all of whose gates may read both sides.
Cell cell_with(std::vector<std::string> gates, std::vector<std::string> states, std::string equations,
               Biases biases = Biases::kTwo);

}  // namespace rnnlab
