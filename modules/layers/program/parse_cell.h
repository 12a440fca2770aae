// SPDX-License-Identifier: Apache-2.0
// Reads equations as text and makes their program:
//
//   f = sigmoid(f)            # a gate's name is W x + b + R h + b; its sides are x.f and h.f
//   n = tanh(x.n + f * h.n)
//   h = (1 - f) * h + f * n   # assigning to a state's name gives its value after the step
//
// A name means its latest value: a gate or a state until it is assigned, then what was assigned to it. `h.n(e)` is
// R e + b for an expression e in place of the hidden state. All mistakes are reported, each with its place.
#pragma once

#include <string>
#include <vector>

#include "layers/program/cell_program.h"
#include "layers/program/tokens.h"

namespace rnnlab {

// A cell as a user writes it.
struct CellText {
  std::vector<std::string> gates;
  std::vector<std::string> states;
  std::string equations;
  std::vector<LearnedVector> vectors = {};
  Biases biases = Biases::kTwo;
  bool has_heads = false;

  bool operator==(const CellText&) const = default;
};

struct ParsedCell {
  CellProgram program;  // only of use without mistakes
  std::vector<EquationMistake> mistakes;
};

ParsedCell parse_cell(const CellText& text);

// Returns the program of a text without mistakes. Throws InvariantError if it has one.
CellProgram program_of(const CellText& text);

}  // namespace rnnlab
