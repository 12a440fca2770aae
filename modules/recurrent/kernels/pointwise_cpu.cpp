#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "recurrent/kernels/pointwise_unit.h"
#include "recurrent/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

template <class T, class Work>
void run_rows(const Work& work, Rows rows) {
  for (int64_t row = rows.first; row < rows.last; ++row)
    for (int64_t unit = 0; unit < work.step.hidden_size; ++unit) run_unit<T>(work, row, unit);
}

template <class Work>
void run_typed(const Work& work, Rows rows) {
  switch (work.step.type) {
    case ElementType::kFloat32:
      return run_rows<float>(work, rows);
    case ElementType::kFloat64:
      return run_rows<double>(work, rows);
    case ElementType::kFloat16:
      return run_rows<c10::Half>(work, rows);
    case ElementType::kBfloat16:
      return run_rows<c10::BFloat16>(work, rows);
  }
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

}  // namespace rnnlab::kernels
