// SPDX-License-Identifier: Apache-2.0
// The derivative of a cell's program, as a program: from the gradients of the states after a step, those of everything
// that the step read. It extends the graph of the program by adjoints (reverse mode; Griewank and Walther, Evaluating
// Derivatives, 2nd edition, chapter 3), and chooses which values of the forward pass are kept for it: those that cannot
// be computed again cheaply from the states before and after the step. Derivatives are LibTorch's, also at kinks.
#pragma once

#include <vector>

#include "layers/program/cell_program.h"

namespace rnnlab {

struct ReverseProgram {
  Graph graph;             // that of the program, and then the adjoints
  NodeId num_forward = 0;  // nodes of the program
  // The gradient of each value that the step read; kNoNode: it is always 0. A gate whose sides are read as their sum
  // has one gradient, in both lists. Where a product reads an expression e in place of the hidden state, the gradient
  // of e comes back through the product (kProductGradient), which waits for the gradient of the hidden side.
  std::vector<NodeId> input_sides, hidden_sides;  // by gate
  std::vector<NodeId> states;                     // before the step
  std::vector<NodeId> vectors;                    // by row

  std::vector<NodeId> kept;        // values of the forward pass that are stored for the reverse pass
  std::vector<NodeId> recomputed;  // functions (such as tanh) that the reverse pass computes again

  // Returns all gradients that are not always 0.
  std::vector<NodeId> results() const;
};

ReverseProgram reverse_of(const CellProgram& program);

}  // namespace rnnlab
