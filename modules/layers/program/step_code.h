// SPDX-License-Identifier: Apache-2.0
// Compiles a program and its reverse program to instructions (kernels/program_step.h), which kernels interpret, or
// which are printed as C++ and compiled. Tiles are given to values as long as these are needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/program/print_step.h"
#include "layers/program/reverse_program.h"

namespace rnnlab {

struct StepCode : StepInstructions {
  // By column of the hidden state's products. A place is that of the sum among Sums: of the input's products it is the
  // column; of the hidden state's it is that of the gate's other side if both are added, and one behind all columns of
  // the input otherwise. The equal column is that of the input's side with an equal gradient, or kNoColumn.
  std::vector<uint8_t> hidden_places, equal_input_columns;

  // By state: its column among the carried gradients, or kNoColumn.
  std::vector<uint8_t> carry_columns;

  // By operand: the column of the product that reads it, among the hidden state's products.
  std::vector<uint8_t> operand_columns;

  std::string text;  // printed_step(*this, "JitProgram"), which GPUs compile

  int64_t num_sums() const;
};

// Returns why kernels do not run the program: "no gate reads the input"; "" if they do.
std::string why_no_step_code(const CellProgram& program);

// Returns the code of a program that has some. It is made once for a program and lives forever.
const StepCode& step_code_of(const CellProgram& program);

}  // namespace rnnlab
