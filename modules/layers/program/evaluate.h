// SPDX-License-Identifier: Apache-2.0
// Runs graphs of operations in float64 for one unit, and checks a reverse program by numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/program/dual_numbers.h"
#include "layers/program/reverse_program.h"

namespace rnnlab {

// The gradients that a reverse program reads: of the states after the step, and by gate, of the operand of its product.
struct UnitGradients {
  std::vector<double> states, products;
};

// Returns the value of each node.
std::vector<double> values_of(const Graph& graph, const UnitInputs& inputs, const UnitGradients& gradients = {});

// Returns inputs from N(0, 1), as a pure function of the seed.
UnitInputs random_inputs(const CellProgram& program, uint64_t seed);

// Returns the largest difference between the gradients of the reverse program and those by dual numbers, relative to
// 1 + the gradient's size, over `num_points` random inputs. Inputs near a kink are left out, and so are those for which
// the equations are not finite.
struct DerivativeCheck {
  double largest_difference = 0;
  int64_t num_points = 0;  // that were compared
};
DerivativeCheck check_derivative(const CellProgram& program, int64_t num_points);

}  // namespace rnnlab
