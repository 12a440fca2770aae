// SPDX-License-Identifier: Apache-2.0
// The reference of minGRU and minLSTM, whose gates read only the input.
#include <cmath>

#include "layers/reference_math.h"

namespace rnnlab::reference {
namespace {

Vector input_sum(const Weights& w, size_t gate, const Step& step) {
  return product(w.weight_ih, w.bias_ih, gate, step.x, step.states[0].size());
}

void input_sum_backward(const Weights& w, size_t gate, const Vector& d, const Step& step, Weights& d_w,
                        StepGradients& gradients) {
  product_backward(w.weight_ih, gate, d, step.x, d_w.weight_ih, d_w.bias_ih, gradients.x);
}

// Computes the paper's g (appendix B), or its linear candidate.
Vector candidate_of(Candidate form, const Vector& sum, Step& step) {
  Vector value = sum;
  if (form == Candidate::kLinear) return value;
  for (double& v : value) {
    step.distance_to_kink = std::min(step.distance_to_kink, std::abs(v));
    v = v >= 0 ? v + 0.5 : sigmoid(v);
  }
  return value;
}

// Returns the derivative in terms of the value: g is at least 0.5 if its argument is at least 0.
double candidate_slope(Candidate form, double value) {
  return form == Candidate::kLinear || value >= 0.5 ? 1.0 : sigmoid_slope(value);
}

}  // namespace

void min_gru_forward(const RecurrentOptions& options, const Weights& w, Step& step) {
  auto& [z, n, unused1, unused2] = step.gates;
  z = sigmoid(input_sum(w, 0, step));
  n = candidate_of(options.candidate, input_sum(w, 1, step), step);
  step.new_states = step.states;
  for (size_t k = 0; k < z.size(); ++k) step.new_states[0][k] = (1 - z[k]) * step.states[0][k] + z[k] * n[k];
}

void min_gru_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const States& d_new,
                      Weights& d_w, StepGradients& gradients) {
  const auto& [z, n, unused1, unused2] = step.gates;
  Vector d_z = d_new[0], d_n = d_new[0];
  for (size_t k = 0; k < z.size(); ++k) {
    d_z[k] *= (n[k] - step.states[0][k]) * sigmoid_slope(z[k]);
    d_n[k] *= z[k] * candidate_slope(options.candidate, n[k]);
    gradients.states[0][k] = d_new[0][k] * (1 - z[k]);
  }
  input_sum_backward(w, 0, d_z, step, d_w, gradients);
  input_sum_backward(w, 1, d_n, step, d_w, gradients);
}

void min_lstm_forward(const RecurrentOptions& options, const Weights& w, Step& step) {
  auto& [i, f, n, unused] = step.gates;
  i = sigmoid(input_sum(w, 0, step));
  f = sigmoid(input_sum(w, 1, step));
  n = candidate_of(options.candidate, input_sum(w, 2, step), step);
  step.new_states = step.states;
  for (size_t k = 0; k < i.size(); ++k)
    step.new_states[0][k] = (f[k] * step.states[0][k] + i[k] * n[k]) / (f[k] + i[k]);
}

void min_lstm_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const States& d_new,
                       Weights& d_w, StepGradients& gradients) {
  const auto& [i, f, n, unused] = step.gates;
  Vector d_i = d_new[0], d_f = d_new[0], d_n = d_new[0];
  for (size_t k = 0; k < i.size(); ++k) {
    const double sum = f[k] + i[k], h = step.states[0][k];
    d_i[k] *= f[k] * (n[k] - h) / (sum * sum) * sigmoid_slope(i[k]);
    d_f[k] *= i[k] * (h - n[k]) / (sum * sum) * sigmoid_slope(f[k]);
    d_n[k] *= i[k] / sum * candidate_slope(options.candidate, n[k]);
    gradients.states[0][k] = d_new[0][k] * f[k] / sum;
  }
  input_sum_backward(w, 0, d_i, step, d_w, gradients);
  input_sum_backward(w, 1, d_f, step, d_w, gradients);
  input_sum_backward(w, 2, d_n, step, d_w, gradients);
}

}  // namespace rnnlab::reference
