// Implements the formulas of the cells for one unit of one sequence, forward and backward; the CPU and CUDA kernels
// share them. LSTM: Gers, Schmidhuber and Cummins 2000; GRU: Cho et al. 2014 with the reset gate after the product, as
// in cuDNN; plain cells: Elman 1990. The derivatives of sigmoid, tanh and relu are computed from their values, so that
// only the activated gates must be stored.
#pragma once

#include <cmath>

#include "recurrent/kernels/pointwise.h"

#ifdef __CUDACC__
#define RNNLAB_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define RNNLAB_HOST_DEVICE inline
#endif

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

}  // namespace rnnlab::kernels
