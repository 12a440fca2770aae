#include "recurrent/reference_cells.h"

#include <algorithm>
#include <cmath>

namespace rnnlab::reference {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double activate(Activation activation, double x) {
  return activation == Activation::kTanh ? std::tanh(x) : std::max(x, 0.0);
}

// Derivatives in terms of the function's value y.
double sigmoid_slope(double y) { return y * (1.0 - y); }
double slope(Activation activation, double y) {
  if (activation == Activation::kTanh) return 1.0 - y * y;
  return y > 0 ? 1.0 : 0.0;
}

// W_g v + b_g, of the rows of gate g.
Vector product(const Matrix& weight, const Vector& bias, size_t gate, const Vector& v, size_t hidden_size) {
  Vector result(hidden_size);
  for (size_t i = 0; i < hidden_size; ++i) {
    const size_t row = gate * hidden_size + i;
    result[i] = bias[row];
    for (size_t j = 0; j < v.size(); ++j) result[i] += weight.values[row * v.size() + j] * v[j];
  }
  return result;
}

// Of product(): given d, the gradient of its result, adds d v^T, d and W_g^T d to the three gradients.
void product_backward(const Matrix& weight, size_t gate, const Vector& d, const Vector& v, Matrix& d_weight,
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

Vector add(const Vector& a, const Vector& b) {
  Vector sum = a;
  for (size_t i = 0; i < a.size(); ++i) sum[i] += b[i];
  return sum;
}

Vector multiply(const Vector& a, const Vector& b) {
  Vector result = a;
  for (size_t i = 0; i < a.size(); ++i) result[i] *= b[i];
  return result;
}

// What every cell's gate starts from: W_ig x + b_ig + W_hg h + b_hg.
Vector gate_sum(const Weights& w, size_t gate, const Vector& x, const Vector& h) {
  return add(product(w.weight_ih, w.bias_ih, gate, x, h.size()), product(w.weight_hh, w.bias_hh, gate, h, h.size()));
}

void gate_sum_backward(const Weights& w, size_t gate, const Vector& d, const Step& step, Weights& d_w,
                       StepGradients& gradients) {
  product_backward(w.weight_ih, gate, d, step.x, d_w.weight_ih, d_w.bias_ih, gradients.x);
  product_backward(w.weight_hh, gate, d, step.h, d_w.weight_hh, d_w.bias_hh, gradients.h);
}

Vector sigmoid(Vector x) {
  for (double& value : x) value = sigmoid(value);
  return x;
}

void note_kink(Activation activation, double x, double size_of_terms, Step& step) {
  if (activation == Activation::kTanh || size_of_terms == 0) return;
  step.distance_to_kink = std::min(step.distance_to_kink, std::abs(x) / size_of_terms);
}

// Of a gate's sum, whose terms are of size 1 or so.
Vector activate(Activation activation, Vector sum, Step& step) {
  for (double& value : sum) {
    note_kink(activation, value, 1.0, step);
    value = activate(activation, value);
  }
  return sum;
}

void lstm_forward(Activation activation, const Weights& w, Step& step) {
  for (const size_t gate : {0U, 1U, 3U}) step.gates[gate] = sigmoid(gate_sum(w, gate, step.x, step.h));
  step.gates[2] = activate(activation, gate_sum(w, 2, step.x, step.h), step);
  const auto& [i, f, g, o] = step.gates;
  step.new_c = add(multiply(f, step.c), multiply(i, g));
  step.activated_cell = step.new_c;
  for (size_t k = 0; k < step.new_c.size(); ++k) {
    note_kink(activation, step.new_c[k], std::abs(f[k] * step.c[k]) + std::abs(i[k] * g[k]), step);
    step.activated_cell[k] = activate(activation, step.new_c[k]);
  }
  step.new_h = multiply(o, step.activated_cell);
}

void lstm_backward(Activation activation, const Weights& w, const Step& step, const Vector& d_h, const Vector& d_c,
                   Weights& d_w, StepGradients& gradients) {
  const auto& [i, f, g, o] = step.gates;
  const size_t size = d_h.size();
  std::array<Vector, 4> d_sum;
  for (Vector& d : d_sum) d.resize(size);
  for (size_t k = 0; k < size; ++k) {
    const double d_new_c = d_c[k] + d_h[k] * o[k] * slope(activation, step.activated_cell[k]);
    d_sum[0][k] = d_new_c * g[k] * sigmoid_slope(i[k]);
    d_sum[1][k] = d_new_c * step.c[k] * sigmoid_slope(f[k]);
    d_sum[2][k] = d_new_c * i[k] * slope(activation, g[k]);
    d_sum[3][k] = d_h[k] * step.activated_cell[k] * sigmoid_slope(o[k]);
    gradients.c[k] = d_new_c * f[k];
  }
  for (size_t gate = 0; gate < 4; ++gate) gate_sum_backward(w, gate, d_sum[gate], step, d_w, gradients);
}

void gru_forward(const RecurrentOptions& options, const Weights& w, Step& step) {
  auto& [r, z, n, unused] = step.gates;
  r = sigmoid(gate_sum(w, 0, step.x, step.h));
  z = sigmoid(gate_sum(w, 1, step.x, step.h));
  Vector reset_product;
  if (options.reset_gate == ResetGate::kAfter) {
    step.recurrent = product(w.weight_hh, w.bias_hh, 2, step.h, step.h.size());
    reset_product = multiply(r, step.recurrent);
  } else {
    step.recurrent = multiply(r, step.h);
    reset_product = product(w.weight_hh, w.bias_hh, 2, step.recurrent, step.h.size());
  }
  n = activate(options.activation, add(product(w.weight_ih, w.bias_ih, 2, step.x, step.h.size()), reset_product), step);
  step.new_h.resize(n.size());
  for (size_t k = 0; k < n.size(); ++k) step.new_h[k] = (1.0 - z[k]) * n[k] + z[k] * step.h[k];
}

// The gradient of r, after those of the candidate's products have been added up.
Vector gru_candidate_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const Vector& d_n,
                              Weights& d_w, StepGradients& gradients) {
  const Vector& r = step.gates[0];
  product_backward(w.weight_ih, 2, d_n, step.x, d_w.weight_ih, d_w.bias_ih, gradients.x);
  if (options.reset_gate == ResetGate::kAfter) {
    product_backward(w.weight_hh, 2, multiply(d_n, r), step.h, d_w.weight_hh, d_w.bias_hh, gradients.h);
    return multiply(d_n, step.recurrent);
  }
  Vector d_reset_hidden(step.h.size());
  product_backward(w.weight_hh, 2, d_n, step.recurrent, d_w.weight_hh, d_w.bias_hh, d_reset_hidden);
  gradients.h = add(gradients.h, multiply(d_reset_hidden, r));
  return multiply(d_reset_hidden, step.h);
}

void gru_backward(const RecurrentOptions& options, const Weights& w, const Step& step, const Vector& d_h, Weights& d_w,
                  StepGradients& gradients) {
  const auto& [r, z, n, unused] = step.gates;
  const size_t size = d_h.size();
  Vector d_z(size), d_n(size);
  for (size_t k = 0; k < size; ++k) {
    d_z[k] = d_h[k] * (step.h[k] - n[k]) * sigmoid_slope(z[k]);
    d_n[k] = d_h[k] * (1.0 - z[k]) * slope(options.activation, n[k]);
    gradients.h[k] += d_h[k] * z[k];
  }
  Vector d_r = gru_candidate_backward(options, w, step, d_n, d_w, gradients);
  for (size_t k = 0; k < size; ++k) d_r[k] *= sigmoid_slope(r[k]);
  gate_sum_backward(w, 0, d_r, step, d_w, gradients);
  gate_sum_backward(w, 1, d_z, step, d_w, gradients);
}

Activation plain_activation(Cell cell) { return cell == Cell::kRnnTanh ? Activation::kTanh : Activation::kRelu; }

void plain_forward(Activation activation, const Weights& w, Step& step) {
  step.new_h = activate(activation, gate_sum(w, 0, step.x, step.h), step);
}

void plain_backward(Activation activation, const Weights& w, const Step& step, const Vector& d_h, Weights& d_w,
                    StepGradients& gradients) {
  Vector d_sum = d_h;
  for (size_t k = 0; k < d_sum.size(); ++k) d_sum[k] *= slope(activation, step.new_h[k]);
  gate_sum_backward(w, 0, d_sum, step, d_w, gradients);
}

}  // namespace

Step step_forward(const RecurrentOptions& options, const Weights& weights, const Vector& x, const Vector& h,
                  const Vector& c) {
  Step step;
  step.x = x;
  step.h = h;
  step.c = c;
  if (options.cell == Cell::kLstm)
    lstm_forward(options.activation, weights, step);
  else if (options.cell == Cell::kGru)
    gru_forward(options, weights, step);
  else
    plain_forward(plain_activation(options.cell), weights, step);
  return step;
}

StepGradients step_backward(const RecurrentOptions& options, const Weights& weights, const Step& step,
                            const Vector& d_new_h, const Vector& d_new_c, Weights& weight_gradients) {
  StepGradients gradients = {Vector(step.x.size()), Vector(step.h.size()), Vector(step.c.size())};
  if (options.cell == Cell::kLstm)
    lstm_backward(options.activation, weights, step, d_new_h, d_new_c, weight_gradients, gradients);
  else if (options.cell == Cell::kGru)
    gru_backward(options, weights, step, d_new_h, weight_gradients, gradients);
  else
    plain_backward(plain_activation(options.cell), weights, step, d_new_h, weight_gradients, gradients);
  return gradients;
}

}  // namespace rnnlab::reference
