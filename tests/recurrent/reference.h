// What a recurrent layer must compute, in float64 and plain loops over one sequence at a time: forward, and backward
// through time by hand. Written to be read beside the equations; no LibTorch, no speed. Finite differences check it in
// reference_test.cpp, and every layer is checked against it in parity_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "recurrent/recurrent_options.h"

namespace rnnlab::reference {

using Vector = std::vector<double>;

struct Matrix {
  int64_t rows = 0, columns = 0;
  Vector values;  // row by row

  double& at(int64_t row, int64_t column) { return values[static_cast<size_t>(row * columns + column)]; }
  double at(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }
};

// One direction of one layer, G gates stacked by rows. What a cell does not have is empty.
struct Weights {
  Matrix weight_ih;  // (G * H, I)
  Matrix weight_hh;  // (G * H, H)
  Vector bias_ih, bias_hh;
  Vector peephole = {};  // (3 * H)
};

// Those that the cell has, in the order of its parameters.
std::vector<Vector*> vectors_of(Weights& weights);

struct Problem {
  RecurrentOptions options;      // dropout and batch_first are not the reference's affair
  int64_t num_steps = 0;         // T
  std::vector<int64_t> lengths;  // of each of the B sequences
  std::vector<Weights> weights;  // layer 0 forward, layer 0 reverse, layer 1 forward ...
  Vector input;                  // (T, B, I)
  Vector hidden;                 // initial states, (L * D, B, H)
  std::vector<Vector> inner;     // the cell's other states in the order of its record, likewise

  int64_t batch_size() const { return static_cast<int64_t>(lengths.size()); }
};

// Also used for the gradients of a loss with respect to these.
struct Result {
  Vector output;  // (T, B, D * H)
  Vector hidden;
  std::vector<Vector> inner;
  // The smallest |x| that went through a relu, against the size of the terms it sums: where it is as small as rounding,
  // a layer may fall on the other side of the kink, and its gradients jump.
  double distance_to_kink = 1e300;
};

struct Gradients {
  std::vector<Weights> weights;
  Vector input, hidden;
  std::vector<Vector> inner;
};

Result forward(const Problem& problem);

// Gradients of sum(result * upstream) over output and final states.
Gradients backward(const Problem& problem, const Result& upstream);

}  // namespace rnnlab::reference
