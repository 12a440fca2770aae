// SPDX-License-Identifier: Apache-2.0
// Runs the steps of pointwise.h for one element (row, unit): loads, the formula of the cell, stores. The CPU's loops
// and the CUDA kernels share these functions. T is the element type, Real the accumulation type.
//
// The formulas: LSTM: Gers, Schmidhuber and Cummins 2000; GRU: Cho et al. 2014 with the reset gate after the product,
// as in cuDNN; plain cells: Elman 1990. The derivatives of sigmoid, tanh and relu are computed from their values, so
// that only the activated gates must be stored.
#pragma once

#include <cmath>

#include "layers/kernels/pointwise.h"

namespace rnnlab::kernels {

template <class Real>
RNNLAB_HOST_DEVICE Real sigmoid(Real x) {
  return Real(1) / (Real(1) + std::exp(-x));
}

template <class Real>
RNNLAB_HOST_DEVICE Real sigmoid_slope(Real value) {
  return value * (Real(1) - value);
}

template <class Real>
RNNLAB_HOST_DEVICE Real activate(Nonlinearity nonlinearity, Real x) {
  if (nonlinearity == Nonlinearity::kTanh) return std::tanh(x);
  return x > Real(0) ? x : Real(0);
}

template <class Real>
RNNLAB_HOST_DEVICE Real activation_slope(Nonlinearity nonlinearity, Real value) {
  if (nonlinearity == Nonlinearity::kTanh) return Real(1) - value * value;
  return value > Real(0) ? Real(1) : Real(0);
}

template <class Real>
struct LstmUnit {
  Real i, f, g, o;  // before or after activation, or gradients
};

template <class Real>
struct LstmState {
  Real cell, hidden;
};

template <class Real>
RNNLAB_HOST_DEVICE LstmState<Real> lstm_forward(Nonlinearity nonlinearity, LstmUnit<Real>& unit, Real previous_cell) {
  unit.i = sigmoid(unit.i);
  unit.f = sigmoid(unit.f);
  unit.g = activate(nonlinearity, unit.g);
  unit.o = sigmoid(unit.o);
  const Real cell = unit.f * previous_cell + unit.i * unit.g;
  return {cell, unit.o * activate(nonlinearity, cell)};
}

// `carry`: the gradient of the cell state before the call, of the previous cell state after it. Returns the gradients
// before activation.
template <class Real>
RNNLAB_HOST_DEVICE LstmUnit<Real> lstm_backward(Nonlinearity nonlinearity, const LstmUnit<Real>& unit,
                                                Real previous_cell, Real cell, Real hidden_gradient, Real& carry) {
  const Real activated = activate(nonlinearity, cell);
  const Real cell_gradient = carry + hidden_gradient * unit.o * activation_slope(nonlinearity, activated);
  carry = cell_gradient * unit.f;
  return {cell_gradient * unit.g * sigmoid_slope(unit.i), cell_gradient * previous_cell * sigmoid_slope(unit.f),
          cell_gradient * unit.i * activation_slope(nonlinearity, unit.g),
          hidden_gradient * activated * sigmoid_slope(unit.o)};
}

template <class Real>
struct GruUnit {
  Real r, z, n;
};

// unit.n: the candidate's input side, W_in x + b_in; `recurrent_candidate`: W_hn h + b_hn.
template <class Real>
RNNLAB_HOST_DEVICE Real gru_forward(Nonlinearity nonlinearity, GruUnit<Real>& unit, Real recurrent_candidate,
                                    Real previous_hidden) {
  unit.r = sigmoid(unit.r);
  unit.z = sigmoid(unit.z);
  unit.n = activate(nonlinearity, unit.n + unit.r * recurrent_candidate);
  return (Real(1) - unit.z) * unit.n + unit.z * previous_hidden;
}

// Returns the gradients before activation of the input side; the recurrent side differs only in n, which is multiplied
// by r there. `carry` returns the gradient that reaches the previous hidden state through z.
template <class Real>
RNNLAB_HOST_DEVICE GruUnit<Real> gru_backward(Nonlinearity nonlinearity, const GruUnit<Real>& unit,
                                              Real recurrent_candidate, Real previous_hidden, Real hidden_gradient,
                                              Real& carry) {
  const Real n = hidden_gradient * (Real(1) - unit.z) * activation_slope(nonlinearity, unit.n);
  carry = hidden_gradient * unit.z;
  return {n * recurrent_candidate * sigmoid_slope(unit.r),
          hidden_gradient * (previous_hidden - unit.n) * sigmoid_slope(unit.z), n};
}

// Returns one gate of one unit before activation: the sum of both products and both biases.
template <class T>
RNNLAB_HOST_DEVICE Accumulation<T> sum(const Products& products, int64_t row, int64_t num_columns, int64_t column) {
  const int64_t dense = row * num_columns + column;
  const int64_t strided = products.row_stride == 0 ? dense : row * products.row_stride + column;
  const auto input = products.below == nullptr ? load<T>(products.input, dense) : load<T>(products.below, strided);
  return input + load<T>(products.recurrent, strided) + load<T>(products.bias_ih, column) +
         load<T>(products.bias_hh, column);
}

template <class T>
RNNLAB_HOST_DEVICE Accumulation<T> sum(const HiddenGradient& gradient, int64_t row, int64_t num_columns,
                                       int64_t column) {
  const int64_t dense = row * num_columns + column;
  const int64_t strided = gradient.row_stride == 0 ? dense : row * gradient.row_stride + column;
  return load_or_zero<T>(gradient.from_output, dense) + load_or_zero<T>(gradient.from_next_step, strided) +
         load_or_zero<T>(gradient.from_above, strided);
}

template <class T>
RNNLAB_HOST_DEVICE void run_unit(const LstmForward& work, int64_t row, int64_t unit) {
  using Real = Accumulation<T>;
  const int64_t size = work.step.hidden_size;
  const int64_t begin = row * 4 * size;
  const int64_t index = row * size + unit;
  const auto gate = [&](int64_t i) { return sum<T>(work.products, row, 4 * size, i * size + unit); };
  LstmUnit<Real> gates = {gate(0), gate(1), gate(2), gate(3)};
  const auto state = lstm_forward(work.step.nonlinearity, gates, load<Real>(work.previous_cell, index));
  store<T>(work.products.input, begin + unit, gates.i);
  store<T>(work.products.input, begin + size + unit, gates.f);
  store<T>(work.products.input, begin + 2 * size + unit, gates.g);
  store<T>(work.products.input, begin + 3 * size + unit, gates.o);
  store<Real>(work.cell, index, state.cell);
  store<T>(work.hidden, index, state.hidden);
}

template <class T>
RNNLAB_HOST_DEVICE void run_unit(const LstmBackward& work, int64_t row, int64_t unit) {
  using Real = Accumulation<T>;
  const int64_t size = work.step.hidden_size;
  const int64_t begin = row * 4 * size;
  const int64_t index = row * size + unit;
  const LstmUnit<Real> gates = {load<T>(work.gates, begin + unit), load<T>(work.gates, begin + size + unit),
                                load<T>(work.gates, begin + 2 * size + unit),
                                load<T>(work.gates, begin + 3 * size + unit)};
  Real carry = load<Real>(work.carry, index) + load_or_zero<Real>(work.cell_output_gradient, index);
  const auto gradients =
      lstm_backward(work.step.nonlinearity, gates, load<Real>(work.previous_cell, index), load<Real>(work.cell, index),
                    sum<T>(work.hidden_gradient, row, size, unit), carry);
  store<Real>(work.carry, index, carry);
  store<T>(work.gate_gradients, begin + unit, gradients.i);
  store<T>(work.gate_gradients, begin + size + unit, gradients.f);
  store<T>(work.gate_gradients, begin + 2 * size + unit, gradients.g);
  store<T>(work.gate_gradients, begin + 3 * size + unit, gradients.o);
}

template <class T>
RNNLAB_HOST_DEVICE void run_unit(const GruForward& work, int64_t row, int64_t unit) {
  using Real = Accumulation<T>;
  const int64_t size = work.step.hidden_size;
  const int64_t begin = row * 3 * size;
  const int64_t index = row * size + unit;
  const int64_t n = 2 * size + unit;
  const Real recurrent_candidate = load<T>(work.products.recurrent, begin + n) + load<T>(work.products.bias_hh, n);
  GruUnit<Real> gates = {sum<T>(work.products, row, 3 * size, unit), sum<T>(work.products, row, 3 * size, size + unit),
                         load<T>(work.products.input, begin + n) + load<T>(work.products.bias_ih, n)};
  const Real hidden =
      gru_forward(work.step.nonlinearity, gates, recurrent_candidate, load<T>(work.previous_hidden, index));
  store<T>(work.products.input, begin + unit, gates.r);
  store<T>(work.products.input, begin + size + unit, gates.z);
  store<T>(work.products.input, begin + n, gates.n);
  store<T>(work.recurrent_candidate, index, recurrent_candidate);
  store<T>(work.hidden, index, hidden);
}

template <class T>
RNNLAB_HOST_DEVICE void run_unit(const GruBackward& work, int64_t row, int64_t unit) {
  using Real = Accumulation<T>;
  const int64_t size = work.step.hidden_size;
  const int64_t begin = row * 3 * size;
  const int64_t index = row * size + unit;
  const GruUnit<Real> gates = {load<T>(work.gates, begin + unit), load<T>(work.gates, begin + size + unit),
                               load<T>(work.gates, begin + 2 * size + unit)};
  Real carry = load<Real>(work.carry, index);
  const Real hidden_gradient = sum<T>(work.hidden_gradient, row, size, unit) + carry;
  const auto gradients = gru_backward(work.step.nonlinearity, gates, load<T>(work.recurrent_candidate, index),
                                      load<T>(work.previous_hidden, index), hidden_gradient, carry);
  store<Real>(work.carry, index, carry);
  store<T>(work.input_gradients, begin + unit, gradients.r);
  store<T>(work.input_gradients, begin + size + unit, gradients.z);
  store<T>(work.input_gradients, begin + 2 * size + unit, gradients.n);
  store<T>(work.recurrent_gradients, begin + unit, gradients.r);
  store<T>(work.recurrent_gradients, begin + size + unit, gradients.z);
  store<T>(work.recurrent_gradients, begin + 2 * size + unit, gradients.n * gates.r);
}

template <class T>
RNNLAB_HOST_DEVICE void run_unit(const RnnForward& work, int64_t row, int64_t unit) {
  const int64_t size = work.step.hidden_size;
  store<T>(work.hidden, row * size + unit, activate(work.step.nonlinearity, sum<T>(work.products, row, size, unit)));
}

template <class T>
RNNLAB_HOST_DEVICE void run_unit(const RnnBackward& work, int64_t row, int64_t unit) {
  const int64_t size = work.step.hidden_size;
  const int64_t index = row * size + unit;
  const auto slope = activation_slope(work.step.nonlinearity, load<T>(work.hidden, index));
  store<T>(work.gate_gradients, index, sum<T>(work.hidden_gradient, row, size, unit) * slope);
}

}  // namespace rnnlab::kernels
