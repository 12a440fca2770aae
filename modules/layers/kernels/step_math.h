// SPDX-License-Identifier: Apache-2.0
// The operations of equations on numbers or on vectors of numbers, each in the one way in which every kernel computes
// it. Lanes has the type and the functions that depend on a processor:
//
//   using Vector = ...;
//   static Vector number(double), infinity(), sigmoid(v), tanh(v), exp(v), log(v), log1p(v);
//   static Vector select(condition, yes, no);
//
// At kinks, ties and NaN the results are LibTorch's. Sources that are compiled for different processors include this
// header: its functions have internal linkage if Lanes has.
#pragma once

#include "layers/kernels/element_type.h"

namespace rnnlab::kernels {

template <class Lanes>
struct StepMath {
  using Vector = typename Lanes::Vector;

  RNNLAB_HOST_DEVICE static Vector number(double value) { return Lanes::number(value); }
  RNNLAB_HOST_DEVICE static Vector infinity() { return Lanes::infinity(); }
  RNNLAB_HOST_DEVICE static Vector zero() { return Lanes::number(0); }
  RNNLAB_HOST_DEVICE static Vector one() { return Lanes::number(1); }

  RNNLAB_HOST_DEVICE static Vector negate(const Vector& a) { return -a; }
  RNNLAB_HOST_DEVICE static Vector sigmoid(const Vector& a) { return Lanes::sigmoid(a); }
  RNNLAB_HOST_DEVICE static Vector tanh(const Vector& a) { return Lanes::tanh(a); }
  RNNLAB_HOST_DEVICE static Vector relu(const Vector& a) { return Lanes::select(a <= zero(), zero(), a); }
  RNNLAB_HOST_DEVICE static Vector exp(const Vector& a) { return Lanes::exp(a); }
  RNNLAB_HOST_DEVICE static Vector log(const Vector& a) { return Lanes::log(a); }
  RNNLAB_HOST_DEVICE static Vector softplus(const Vector& a) {
    const Vector threshold = Lanes::number(20);  // that of at::softplus
    return Lanes::select(a > threshold, a, Lanes::log1p(Lanes::exp(a)));
  }
  RNNLAB_HOST_DEVICE static Vector log_sigmoid(const Vector& a) {
    return Lanes::select(a < zero(), a, zero()) - Lanes::log1p(Lanes::exp(-abs(a)));
  }
  RNNLAB_HOST_DEVICE static Vector abs(const Vector& a) { return Lanes::select(a < zero(), -a, a); }
  RNNLAB_HOST_DEVICE static Vector sign(const Vector& a) {
    return Lanes::select(a > zero(), one(), Lanes::select(a < zero(), -one(), zero()));
  }
  RNNLAB_HOST_DEVICE static Vector constant(const Vector& a) { return a; }

  RNNLAB_HOST_DEVICE static Vector min(const Vector& a, const Vector& b) {
    return Lanes::select(b != b, b, Lanes::select(b < a, b, a));
  }
  RNNLAB_HOST_DEVICE static Vector max(const Vector& a, const Vector& b) {
    return Lanes::select(b != b, b, Lanes::select(b > a, b, a));
  }

  // 1 if the condition holds, and 0 otherwise.
  template <class Condition>
  RNNLAB_HOST_DEVICE static Vector truth(const Condition& condition) {
    return Lanes::select(condition, one(), zero());
  }
  RNNLAB_HOST_DEVICE static Vector where(const Vector& a, const Vector& b, const Vector& c) {
    return Lanes::select(a != zero(), b, c);
  }
};

}  // namespace rnnlab::kernels
