// SPDX-License-Identifier: Apache-2.0
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "layers/kernels/pointwise_unit.h"
#include "layers/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

template <class T, class Work>
void run_rows(const Work& work, Rows rows) {
  for (int64_t row = rows.first; row < rows.last; ++row)
    for (int64_t unit = 0; unit < work.step.hidden_size; ++unit) run_unit<T>(work, row, unit);
}

template <class Work>
void run_typed(const Work& work, Rows rows) {
  with_element_type<c10::Half, c10::BFloat16>(work.step.type,
                                              [&](auto element) { run_rows<decltype(element)>(work, rows); });
}

template <class Work>
int64_t row_stride(const Work& work) {
  if constexpr (requires { work.products; })
    return work.products.row_stride;
  else
    return work.hidden_gradient.row_stride;
}

// Uses vector instructions if the processor and the type support them and the rows are dense.
template <class Work>
void run_fastest(const Work& work, Rows rows) {
  const bool is_short = work.step.type == ElementType::kFloat32 || work.step.type == ElementType::kBfloat16;
  const bool has_vectors = is_short && row_stride(work) == 0;
  const SimdSteps* steps = has_vectors ? simd_steps() : nullptr;
  if (steps == nullptr) return run_typed(work, rows);
  run(*steps, work, Sums{}, Part{{rows.first, rows.last}, {0, work.step.hidden_size}});
}

}  // namespace

void run(const LstmForward& work, Rows rows) { run_fastest(work, rows); }
void run(const LstmBackward& work, Rows rows) { run_fastest(work, rows); }
void run(const GruForward& work, Rows rows) { run_fastest(work, rows); }
void run(const GruBackward& work, Rows rows) { run_fastest(work, rows); }
void run(const RnnForward& work, Rows rows) { run_fastest(work, rows); }
void run(const RnnBackward& work, Rows rows) { run_fastest(work, rows); }

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
