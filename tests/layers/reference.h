// SPDX-License-Identifier: Apache-2.0
// Implements the reference of a recurrent layer, in float64 and plain loops over one sequence at a time: forward, and
// backward through time with derivatives of the cell's equations by dual numbers (program/dual_numbers.h). It is
// written for comparison with the equations, without LibTorch and without optimisation. Finite differences check it in
// reference_test.cpp, and every layer is checked against it in parity_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/recurrent_options.h"

namespace rnnlab::reference {

using Vector = std::vector<double>;

struct Matrix {
  int64_t rows = 0, columns = 0;
  Vector values;  // row by row

  double& at(int64_t row, int64_t column) { return values[static_cast<size_t>(row * columns + column)]; }
  double at(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }
};

// Holds the weights of one direction of one layer, with G gates stacked by rows. Parameters that a cell does not have
// are empty.
struct Weights {
  Matrix weight_ih;  // (G * H, I)
  Matrix weight_hh;  // (G * H, H)
  Vector bias_ih, bias_hh;
  std::vector<Vector> vectors = {};  // the learned vectors, each with its rows one after another
};

// Returns the parameters of the cell, in the order of its record.
std::vector<Vector*> vectors_of(Weights& weights);

struct Problem {
  RecurrentOptions options;         // the reference ignores dropout and batch_first
  int64_t num_steps = 0;            // T
  std::vector<int64_t> lengths;     // of each of the B sequences
  std::vector<bool> starts;         // (T, B): no state passes from step t - 1 to step t; empty if none starts
  bool returns_all_states = false;  // whether the layer returns the states after each step, too
  std::vector<Weights> weights;     // layer 0 forward, layer 0 reverse, layer 1 forward ...
  Vector input;                     // (T, B, I)
  Vector hidden;                    // initial states, (L * D, B, H)
  std::vector<Vector> inner;        // the cell's other states in the order of its record, in the same shape

  int64_t batch_size() const { return static_cast<int64_t>(lengths.size()); }
};

// This struct also holds the gradients of a loss with respect to these values.
struct Result {
  Vector output;  // (T, B, D * H)
  Vector hidden;
  std::vector<Vector> inner;
  std::vector<Vector> all;  // every state after each step, (L * D, T, B, H); as gradients also empty, which means zeros
  // This is the smallest |x| before a relu, relative to the size of the summed terms. If it is as small as rounding, a
  // layer may be on the other side of the kink, where its gradients differ.
  double distance_to_kink = 1e300;
};

struct Gradients {
  std::vector<Weights> weights;
  Vector input, hidden;
  std::vector<Vector> inner;
};

// A result whose distance to a kink is below least_distance is not complete, because the caller rejects it.
Result forward(const Problem& problem, double least_distance = 0);

// Returns the gradients of sum(result * upstream) over output, final states and the states after each step.
Gradients backward(const Problem& problem, const Result& upstream);

}  // namespace rnnlab::reference
