// SPDX-License-Identifier: Apache-2.0
// A program and its derivative as text for people, one operation a line.
#pragma once

#include <string>

#include "layers/program/reverse_program.h"

namespace rnnlab {

// Returns the steps of the program: "v7 = sigmoid(v2)", and the values of the states after the step.
std::string program_text(const CellProgram& program);

// Returns the steps of the reverse program that are not steps of the program, and the gradients that it gives.
std::string reverse_text(const CellProgram& program, const ReverseProgram& reverse);

// Returns the values that the forward pass keeps, such as "sigmoid(f), tanh(v5), h.n", or "nothing".
std::string kept_text(const CellProgram& program, const ReverseProgram& reverse);

}  // namespace rnnlab
