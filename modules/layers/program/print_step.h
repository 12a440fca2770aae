// SPDX-License-Identifier: Apache-2.0
// Prints the instructions of a program as C++, which runs in place of the interpreter: on CPUs, where the build
// compiles the cells of the list, and on GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layers/kernels/program_step.h"

namespace rnnlab {

// The instructions of a program, and what kernels know of it when they are compiled.
struct StepInstructions {
  std::vector<kernels::TileInstruction> forward, backward;
  std::vector<kernels::TileInstruction> operands, product_sides;  // empty if no product reads an operand
  kernels::StepColumns columns;
  bool has_sides_apart = false;  // the gradients of both sides of a gate may differ
};

// Returns whether an instruction stores a tile instead of setting one.
bool is_store(const kernels::TileInstruction& instruction);

// Returns a struct with kColumns, kHasSidesApart, and a function for each pass, such as forward(units), for the Units
// of kernels/step_units.h. It contains no names of the equations, and its numbers do not depend on the locale.
std::string printed_step(const StepInstructions& code, std::string_view name);

}  // namespace rnnlab
