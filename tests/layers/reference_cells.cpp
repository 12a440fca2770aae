// SPDX-License-Identifier: Apache-2.0
#include "layers/reference_cells.h"

#include "layers/reference_math.h"

namespace rnnlab::reference {
namespace {

void lstm_forward(Activation activation, const Weights& w, Step& step) {
  const Vector &h = step.states[0], &c = step.states[1];
  for (const size_t gate : {0U, 1U, 3U}) step.gates[gate] = sigmoid(gate_sum(w, gate, step.x, h));
  step.gates[2] = activate(activation, gate_sum(w, 2, step.x, h), step);
  const auto& [i, f, g, o] = step.gates;
  const Vector new_c = add(multiply(f, c), multiply(i, g));
  step.activated_cell = new_c;
  for (size_t k = 0; k < new_c.size(); ++k) {
    note_kink(activation, new_c[k], std::abs(f[k] * c[k]) + std::abs(i[k] * g[k]), step);
    step.activated_cell[k] = activate(activation, new_c[k]);
  }
  step.new_states = {multiply(o, step.activated_cell), new_c};
}

void lstm_backward(Activation activation, const Weights& w, const Step& step, const States& d_states, Weights& d_w,
                   StepGradients& gradients) {
  const Vector &d_h = d_states[0], &d_c = d_states[1];
  const auto& [i, f, g, o] = step.gates;
  const size_t size = d_h.size();
  std::array<Vector, 4> d_sum;
  for (Vector& d : d_sum) d.resize(size);
  for (size_t k = 0; k < size; ++k) {
    const double d_new_c = d_c[k] + d_h[k] * o[k] * slope(activation, step.activated_cell[k]);
    d_sum[0][k] = d_new_c * g[k] * sigmoid_slope(i[k]);
    d_sum[1][k] = d_new_c * step.states[1][k] * sigmoid_slope(f[k]);
    d_sum[2][k] = d_new_c * i[k] * slope(activation, g[k]);
    d_sum[3][k] = d_h[k] * step.activated_cell[k] * sigmoid_slope(o[k]);
    gradients.states[1][k] = d_new_c * f[k];
  }
  for (size_t gate = 0; gate < 4; ++gate) gate_sum_backward(w, gate, d_sum[gate], step, d_w, gradients);
}

void gru_forward(const RecurrentOptions& options, const Weights& w, Step& step) {
  const Vector& h = step.states[0];
  auto& [r, z, n, unused] = step.gates;
  r = sigmoid(gate_sum(w, 0, step.x, h));
  z = sigmoid(gate_sum(w, 1, step.x, h));
  Vector reset_product;
  if (options.reset_gate == ResetGate::kAfter) {
    step.recurrent = product(w.weight_hh, w.bias_hh, 2, h, h.size());
    reset_product = multiply(r, step.recurrent);
  } else {
    step.recurrent = multiply(r, h);
    reset_product = product(w.weight_hh, w.bias_hh, 2, step.recurrent, h.size());
  }
  n = activate(options.activation, add(product(w.weight_ih, w.bias_ih, 2, step.x, h.size()), reset_product), step);
  step.new_states = {Vector(n.size())};
  for (size_t k = 0; k < n.size(); ++k) step.new_states[0][k] = (1.0 - z[k]) * n[k] + z[k] * h[k];
}

// Computes the gradient of r after the gradients of the candidate's products have been added up.
Vector gru_candidate_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const Vector& d_n,
                              Weights& d_w, StepGradients& gradients) {
  const Vector &r = step.gates[0], &h = step.states[0];
  Vector& d_h = gradients.states[0];
  product_backward(w.weight_ih, 2, d_n, step.x, d_w.weight_ih, d_w.bias_ih, gradients.x);
  if (options.reset_gate == ResetGate::kAfter) {
    product_backward(w.weight_hh, 2, multiply(d_n, r), h, d_w.weight_hh, d_w.bias_hh, d_h);
    return multiply(d_n, step.recurrent);
  }
  Vector d_reset_hidden(h.size());
  product_backward(w.weight_hh, 2, d_n, step.recurrent, d_w.weight_hh, d_w.bias_hh, d_reset_hidden);
  d_h = add(d_h, multiply(d_reset_hidden, r));
  return multiply(d_reset_hidden, h);
}

void gru_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const Vector& d_h, Weights& d_w,
                  StepGradients& gradients) {
  const auto& [r, z, n, unused] = step.gates;
  const size_t size = d_h.size();
  Vector d_z(size), d_n(size);
  for (size_t k = 0; k < size; ++k) {
    d_z[k] = d_h[k] * (step.states[0][k] - n[k]) * sigmoid_slope(z[k]);
    d_n[k] = d_h[k] * (1.0 - z[k]) * slope(options.activation, n[k]);
    gradients.states[0][k] += d_h[k] * z[k];
  }
  Vector d_r = gru_candidate_backward(options, w, step, d_n, d_w, gradients);
  for (size_t k = 0; k < size; ++k) d_r[k] *= sigmoid_slope(r[k]);
  gate_sum_backward(w, 0, d_r, step, d_w, gradients);
  gate_sum_backward(w, 1, d_z, step, d_w, gradients);
}

void plain_forward(Activation activation, const Weights& w, Step& step) {
  step.new_states = {activate(activation, gate_sum(w, 0, step.x, step.states[0]), step)};
}

void plain_backward(Activation activation, const Weights& w, const Step& step, const Vector& d_h, Weights& d_w,
                    StepGradients& gradients) {
  Vector d_sum = d_h;
  for (size_t k = 0; k < d_sum.size(); ++k) d_sum[k] *= slope(activation, step.new_states[0][k]);
  gate_sum_backward(w, 0, d_sum, step, d_w, gradients);
}

}  // namespace

Step step_forward(const RecurrentOptions& options, const Weights& weights, const Vector& x, const States& states) {
  Step step;
  step.x = x;
  step.states = states;
  switch (options.cell) {
    case Cell::kLstm:
      lstm_forward(options.activation, weights, step);
      break;
    case Cell::kGru:
      gru_forward(options, weights, step);
      break;
    case Cell::kRnnTanh:
      plain_forward(Activation::kTanh, weights, step);
      break;
    case Cell::kRnnRelu:
      plain_forward(Activation::kRelu, weights, step);
      break;
    case Cell::kMinGru:
      min_gru_forward(options, weights, step);
      break;
    case Cell::kMinLstm:
      min_lstm_forward(options, weights, step);
      break;
    case Cell::kLstmPeephole:
      lstm_peephole_forward(options, weights, step);
      break;
    case Cell::kSlstm:
      slstm_forward(weights, step);
      break;
  }
  return step;
}

StepGradients step_backward(const RecurrentOptions& options, const Weights& weights, const Step& step,
                            const States& d_new, Weights& d_w) {
  StepGradients gradients = {Vector(step.x.size()), States(step.states.size(), Vector(step.states[0].size()))};
  switch (options.cell) {
    case Cell::kLstm:
      lstm_backward(options.activation, weights, step, d_new, d_w, gradients);
      break;
    case Cell::kGru:
      gru_backward(options, weights, step, d_new[0], d_w, gradients);
      break;
    case Cell::kRnnTanh:
      plain_backward(Activation::kTanh, weights, step, d_new[0], d_w, gradients);
      break;
    case Cell::kRnnRelu:
      plain_backward(Activation::kRelu, weights, step, d_new[0], d_w, gradients);
      break;
    case Cell::kMinGru:
      min_gru_backward(options, weights, step, d_new, d_w, gradients);
      break;
    case Cell::kMinLstm:
      min_lstm_backward(options, weights, step, d_new, d_w, gradients);
      break;
    case Cell::kLstmPeephole:
      lstm_peephole_backward(options, weights, step, d_new, d_w, gradients);
      break;
    case Cell::kSlstm:
      slstm_backward(weights, step, d_new, d_w, gradients);
      break;
  }
  return gradients;
}

}  // namespace rnnlab::reference
