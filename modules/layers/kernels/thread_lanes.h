// SPDX-License-Identifier: Apache-2.0
// Numbers and functions of the equations on a GPU, where a thread computes one unit of a sequence.
#pragma once

#include "layers/kernels/element_type.h"

namespace rnnlab::kernels {

template <class Real>
struct FunctionsOfReal;

template <>
struct FunctionsOfReal<float> {
  __device__ static float infinity() { return __int_as_float(0x7f800000); }
  __device__ static float exp(float x) { return expf(x); }
  __device__ static float log(float x) { return logf(x); }
  __device__ static float log1p(float x) { return log1pf(x); }
  __device__ static float tanh(float x) { return tanhf(x); }
};

template <>
struct FunctionsOfReal<double> {
  __device__ static double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
  __device__ static double exp(double x) { return ::exp(x); }
  __device__ static double log(double x) { return ::log(x); }
  __device__ static double log1p(double x) { return ::log1p(x); }
  __device__ static double tanh(double x) { return ::tanh(x); }
};

// The functions that step_math.h and step_units.h ask for; a vector is one number.
template <class Real>
struct ThreadLanes : FunctionsOfReal<Real> {
  using Vector = Real;
  static constexpr int64_t kWidth = 1;

  template <class T>
  __device__ static Real read(const void* data, int64_t index, int64_t) {
    return load<T>(data, index);
  }
  template <class T>
  __device__ static void write(void* data, int64_t index, Real value, int64_t) {
    store<T>(data, index, value);
  }
  __device__ static Real number(double value) { return static_cast<Real>(value); }
  __device__ static Real sigmoid(Real x) { return Real(1) / (Real(1) + FunctionsOfReal<Real>::exp(-x)); }
  __device__ static Real select(bool condition, Real yes, Real no) { return condition ? yes : no; }
};

}  // namespace rnnlab::kernels
