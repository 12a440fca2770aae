// SPDX-License-Identifier: Apache-2.0
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>

#include "layers/kernels/program_step_impl.h"
#include "layers/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

using PlainFloats = float __attribute__((vector_size(16)));
using PlainDoubles = double __attribute__((vector_size(16)));

// The functions of program_step_impl.h for sums in Real, by the instructions that every processor has.
template <class Real>
struct PlainLanes {
  using Vector = std::conditional_t<std::is_same_v<Real, double>, PlainDoubles, PlainFloats>;
  static constexpr int64_t kWidth = 16 / sizeof(Real);

  template <class T>
  static Vector read(const void* data, int64_t index, int64_t count) {
    Vector vector = {};
    for (int64_t i = 0; i < count; ++i) vector[i] = static_cast<Real>(static_cast<const T*>(data)[index + i]);
    return vector;
  }
  template <class T>
  static void write(void* data, int64_t index, const Vector& value, int64_t count) {
    for (int64_t i = 0; i < count; ++i) static_cast<T*>(data)[index + i] = static_cast<T>(value[i]);
  }
  template <class Function>
  static Vector each(Vector x, Function function) {
    for (int64_t i = 0; i < kWidth; ++i) x[i] = function(x[i]);
    return x;
  }
  static Vector number(double value) { return Vector{} + static_cast<Real>(value); }
  static Vector infinity() { return number(std::numeric_limits<Real>::infinity()); }
  static Vector sigmoid(const Vector& x) {
    return each(x, [](Real one) { return 1 / (1 + std::exp(-one)); });
  }
  static Vector tanh(const Vector& x) {
    return each(x, [](Real one) { return std::tanh(one); });
  }
  static Vector exp(const Vector& x) {
    return each(x, [](Real one) { return std::exp(one); });
  }
  static Vector log(const Vector& x) {
    return each(x, [](Real one) { return std::log(one); });
  }
  static Vector log1p(const Vector& x) {
    return each(x, [](Real one) { return std::log1p(one); });
  }
  template <class Condition>
  static Vector select(const Condition& condition, const Vector& yes, const Vector& no) {
    return condition ? yes : no;
  }
};

}  // namespace

int compiled_program(std::string_view hash, const StepColumns& columns) {
  const auto* const found = std::ranges::find(kCompiledHashes, hash);
  const auto place = static_cast<int>(found - std::begin(kCompiledHashes));
  bool is_equal = false;
  with_compiled_program(place, [&](auto program) { is_equal = decltype(program)::kColumns == columns; });
  return is_equal ? place : kInterpreted;
}

// Uses vector instructions if the processor and the type support them.
void run(const ProgramStep& work, Rows rows) {
  const Part part = {{rows.first, rows.last}, {0, work.step.hidden_size}};
  const bool is_short = work.step.type == ElementType::kFloat32 || work.step.type == ElementType::kBfloat16;
  if (const SimdSteps* steps = is_short ? simd_steps() : nullptr) return steps->run(work, Sums{}, part);
  with_element_type<c10::Half, c10::BFloat16>(work.step.type, [&](auto element) {
    using T = decltype(element);
    run_program_part<PlainLanes<Accumulation<T>>, T, Accumulation<T>>(work, Sums{}, part);
  });
}

namespace {

const SimdSteps* choose() {
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx512) return __builtin_cpu_supports("avx512bf16") ? &avx512_bf16_steps() : &avx512_steps();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2_steps();
  return nullptr;
}

}  // namespace

const SimdSteps* simd_steps() {
  static const SimdSteps* const kChosen = choose();
  return kChosen;
}

}  // namespace rnnlab::kernels
