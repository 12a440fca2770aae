// SPDX-License-Identifier: Apache-2.0
// The functions that the reference's equations use: products with weights, activations, and their gradients.
#pragma once

#include <algorithm>
#include <cmath>

#include "layers/reference_cells.h"

namespace rnnlab::reference {

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

inline double activate(Activation activation, double x) {
  return activation == Activation::kTanh ? std::tanh(x) : std::max(x, 0.0);
}

// These functions return derivatives in terms of the function's value y.
inline double sigmoid_slope(double y) { return y * (1.0 - y); }
inline double slope(Activation activation, double y) {
  if (activation == Activation::kTanh) return 1.0 - y * y;
  return y > 0 ? 1.0 : 0.0;
}

// Returns W_g v + b_g for the rows of gate g.
inline Vector product(const Matrix& weight, const Vector& bias, size_t gate, const Vector& v, size_t hidden_size) {
  Vector result(hidden_size);
  for (size_t i = 0; i < hidden_size; ++i) {
    const size_t row = gate * hidden_size + i;
    result[i] = bias[row];
    for (size_t j = 0; j < v.size(); ++j) result[i] += weight.values[row * v.size() + j] * v[j];
  }
  return result;
}

// Computes the backward pass of product(): given d, the gradient of its result, adds d v^T, d and W_g^T d to the three
// gradients.
inline void product_backward(const Matrix& weight, size_t gate, const Vector& d, const Vector& v, Matrix& d_weight,
                             Vector& d_bias, Vector& d_v) {
  for (size_t i = 0; i < d.size(); ++i) {
    const size_t row = gate * d.size() + i;
    d_bias[row] += d[i];
    for (size_t j = 0; j < v.size(); ++j) {
      d_weight.values[row * v.size() + j] += d[i] * v[j];
      d_v[j] += weight.values[row * v.size() + j] * d[i];
    }
  }
}

inline Vector add(const Vector& a, const Vector& b) {
  Vector sum = a;
  for (size_t i = 0; i < a.size(); ++i) sum[i] += b[i];
  return sum;
}

inline Vector multiply(const Vector& a, const Vector& b) {
  Vector result = a;
  for (size_t i = 0; i < a.size(); ++i) result[i] *= b[i];
  return result;
}

// Returns the sum from which every cell's gate starts: W_ig x + b_ig + W_hg h + b_hg.
inline Vector gate_sum(const Weights& w, size_t gate, const Vector& x, const Vector& h) {
  return add(product(w.weight_ih, w.bias_ih, gate, x, h.size()), product(w.weight_hh, w.bias_hh, gate, h, h.size()));
}

inline void gate_sum_backward(const Weights& w, size_t gate, const Vector& d, const Step& step, Weights& d_w,
                              StepGradients& gradients) {
  product_backward(w.weight_ih, gate, d, step.x, d_w.weight_ih, d_w.bias_ih, gradients.x);
  product_backward(w.weight_hh, gate, d, step.states[0], d_w.weight_hh, d_w.bias_hh, gradients.states[0]);
}

inline Vector sigmoid(Vector x) {
  for (double& value : x) value = sigmoid(value);
  return x;
}

inline void note_kink(Activation activation, double x, double size_of_terms, Step& step) {
  if (activation == Activation::kTanh || size_of_terms == 0) return;
  step.distance_to_kink = std::min(step.distance_to_kink, std::abs(x) / size_of_terms);
}

// Activates a gate's sum, whose terms have a size of about 1.
inline Vector activate(Activation activation, Vector sum, Step& step) {
  for (double& value : sum) {
    note_kink(activation, value, 1.0, step);
    value = activate(activation, value);
  }
  return sum;
}

// These cells have their own files.
void min_gru_forward(const RecurrentOptions& options, const Weights& w, Step& step);
void min_gru_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const States& d_new,
                      Weights& d_w, StepGradients& gradients);
void min_lstm_forward(const RecurrentOptions& options, const Weights& w, Step& step);
void min_lstm_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const States& d_new,
                       Weights& d_w, StepGradients& gradients);
void lstm_peephole_forward(const RecurrentOptions& options, const Weights& w, Step& step);
void lstm_peephole_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const States& d_new,
                            Weights& d_w, StepGradients& gradients);
void slstm_forward(const Weights& w, Step& step);
void slstm_backward(const Weights& w, const Step& step, const States& d_new, Weights& d_w, StepGradients& gradients);

}  // namespace rnnlab::reference
