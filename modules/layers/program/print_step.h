// SPDX-License-Identifier: Apache-2.0
// Prints the instructions of a program (step_code.h) as C++, which runs in place of the interpreter: on CPUs, where the
// build compiles the cells of the list, and on GPUs.
#pragma once

#include <string>
#include <string_view>

#include "layers/program/step_code.h"

namespace rnnlab {

// Returns a struct with kColumns, kHasSidesApart, and the functions forward(units) and backward(units), for the Units
// of kernels/step_units.h. It contains no names of the equations, and its numbers do not depend on the locale.
std::string printed_step(const StepCode& code, std::string_view name);

}  // namespace rnnlab
