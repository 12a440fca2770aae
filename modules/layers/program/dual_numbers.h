// SPDX-License-Identifier: Apache-2.0
// Runs a program in float64 with dual numbers (Clifford 1873; forward mode): the values of a step and their derivatives
// with respect to everything that the step read. It is the reference for all layers, and shares no code with the
// reverse program.
#pragma once

#include <vector>

#include "layers/program/cell_program.h"

namespace rnnlab {

// What one unit reads at one step, or derivatives by it. A gate that is read as a sum has it in `input_sides`, and 0 in
// `hidden_sides`.
struct UnitInputs {
  std::vector<double> input_sides, hidden_sides;  // by gate, with biases
  std::vector<double> states;                     // before the step
  std::vector<double> vectors;                    // by row
};

struct DerivedValue {
  double value = 0;
  UnitInputs derivatives;
};

struct UnitStep {
  std::vector<DerivedValue> states;  // after the step
  // The operand of each gate's product with an expression in place of the hidden state; 0 for other gates. It does not
  // depend on the gate's own hidden side, so that a first run gives it, and a second run has the product.
  std::vector<DerivedValue> operands;
  // The least distance of an argument to a place without a derivative, relative to the terms that were added to it.
  double distance_to_kink = 0;
};

UnitStep run_with_derivatives(const CellProgram& program, const UnitInputs& inputs);

}  // namespace rnnlab
