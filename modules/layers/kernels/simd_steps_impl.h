// SPDX-License-Identifier: Apache-2.0
// Implements simd_steps.h for one instruction set; simd.h explains how these sources are compiled. A vector has
// kSimdWidth units of one sequence.
#pragma once

#include "layers/kernels/program_step_impl.h"
#include "layers/kernels/simd.h"
#include "layers/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

// The functions of program_step_impl.h. exp and log are those of the C library, because equations of a user may need
// their whole range.
struct SimdLanes {
  using Vector = Floats;
  static constexpr int64_t kWidth = kSimdWidth;

  template <class T>
  static Floats read(const void* data, int64_t index, int64_t count) {
    return load(at<T>(data, index), count);
  }
  template <class T>
  static void write(void* data, int64_t index, const Floats& value, int64_t count) {
    store(at<T>(data, index), value, count);
  }
  static Floats number(double value) { return broadcast(static_cast<float>(value)); }
  static Floats infinity() { return broadcast(__builtin_inff()); }
  static Floats sigmoid(const Floats& x) { return sigmoid_of(x); }
  static Floats tanh(const Floats& x) { return tanh_of(x); }
  template <class Condition>
  static Floats select(const Condition& condition, const Floats& yes, const Floats& no) {
    return condition ? yes : no;
  }

  static Floats exp(Floats x) {
    for (int i = 0; i < kSimdWidth; ++i) x[i] = __builtin_expf(x[i]);
    return x;
  }
  static Floats log(Floats x) {
    for (int i = 0; i < kSimdWidth; ++i) x[i] = __builtin_logf(x[i]);
    return x;
  }
  static Floats log1p(Floats x) {
    for (int i = 0; i < kSimdWidth; ++i) x[i] = __builtin_log1pf(x[i]);
    return x;
  }
};

void run_step(const ProgramStep& work, const Sums& sums, const Part& part) {
  if (work.step.type == ElementType::kBfloat16) return run_program_part<SimdLanes, Bfloat16, float>(work, sums, part);
  run_program_part<SimdLanes, float, float>(work, sums, part);
}

constexpr SimdSteps make_steps(const char* name) {
  return {name, run_step, transpose_words, interleave_words, narrow_floats, random_words};
}

}  // namespace
}  // namespace rnnlab::kernels
