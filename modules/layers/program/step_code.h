// SPDX-License-Identifier: Apache-2.0
// Compiles a program and its reverse program to the instructions that kernels interpret (kernels/program_step.h).
// Tiles are given to values as long as these are needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/kernels/program_step.h"
#include "layers/program/reverse_program.h"

namespace rnnlab {

struct StepCode {
  std::vector<kernels::TileInstruction> forward, backward;
  int64_t num_gates = 0, num_inner = 0, num_kept = 0;
  bool has_sides_apart = false;  // the gradients of both sides of a gate may differ
  // The place of each gate's hidden side among the sums of products: that of its input side if they are added, and one
  // behind those of all gates otherwise.
  std::vector<int64_t> hidden_places;

  int64_t num_sums() const;
};

// Returns why kernels do not run the program: "it has learned vectors"; "" if they do.
std::string why_no_step_code(const CellProgram& program);

// Returns the code of a program that has some. It is made once for a program and lives forever.
const StepCode& step_code_of(const CellProgram& program);

}  // namespace rnnlab
