// SPDX-License-Identifier: Apache-2.0
// The reference of the LSTM with peepholes.
#include <cmath>

#include "layers/reference_math.h"

namespace rnnlab::reference {
namespace {

// Returns the gate's sum with the cell state that the gate reads. Only i, f and o have peepholes.
Vector peephole_sum(const Weights& w, size_t gate, size_t peephole, const Step& step, const Vector& c) {
  Vector sum = gate_sum(w, gate, step.x, step.states[0]);
  for (size_t k = 0; k < c.size(); ++k) sum[k] += w.peephole[peephole * c.size() + k] * c[k];
  return sum;
}

}  // namespace

void lstm_peephole_forward(const RecurrentOptions& options, const Weights& w, Step& step) {
  const Vector& c = step.states[1];
  auto& [i, f, g, o] = step.gates;
  i = sigmoid(peephole_sum(w, 0, 0, step, c));
  f = sigmoid(peephole_sum(w, 1, 1, step, c));
  g = activate(options.activation, gate_sum(w, 2, step.x, step.states[0]), step);
  const Vector new_c = add(multiply(f, c), multiply(i, g));
  o = sigmoid(peephole_sum(w, 3, 2, step, new_c));
  step.activated_cell = new_c;
  for (size_t k = 0; k < new_c.size(); ++k) {
    note_kink(options.activation, new_c[k], std::abs(f[k] * c[k]) + std::abs(i[k] * g[k]), step);
    step.activated_cell[k] = activate(options.activation, new_c[k]);
  }
  step.new_states = {multiply(o, step.activated_cell), new_c};
}

void lstm_peephole_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const States& d_new,
                            Weights& d_w, StepGradients& gradients) {
  const auto& [i, f, g, o] = step.gates;
  const Vector &c = step.states[1], &new_c = step.new_states[1];
  const size_t size = c.size();
  std::array<Vector, 4> d_sum;
  for (Vector& d : d_sum) d.resize(size);
  for (size_t k = 0; k < size; ++k) {
    const double d_h = d_new[0][k], *p = w.peephole.data() + k;
    double* d_p = d_w.peephole.data() + k;
    d_sum[3][k] = d_h * step.activated_cell[k] * sigmoid_slope(o[k]);
    const double d_c =
        d_new[1][k] + d_h * o[k] * slope(options.activation, step.activated_cell[k]) + d_sum[3][k] * p[2 * size];
    d_sum[0][k] = d_c * g[k] * sigmoid_slope(i[k]);
    d_sum[1][k] = d_c * c[k] * sigmoid_slope(f[k]);
    d_sum[2][k] = d_c * i[k] * slope(options.activation, g[k]);
    d_p[0] += d_sum[0][k] * c[k];
    d_p[size] += d_sum[1][k] * c[k];
    d_p[2 * size] += d_sum[3][k] * new_c[k];
    gradients.states[1][k] = d_c * f[k] + d_sum[0][k] * p[0] + d_sum[1][k] * p[size];
  }
  for (size_t gate = 0; gate < 4; ++gate) gate_sum_backward(w, gate, d_sum[gate], step, d_w, gradients);
}

}  // namespace rnnlab::reference
