#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "recurrent/kernels/pointwise_unit.h"

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

}  // namespace

void run(const LstmForward& work, Rows rows) { run_typed(work, rows); }
void run(const LstmBackward& work, Rows rows) { run_typed(work, rows); }
void run(const GruForward& work, Rows rows) { run_typed(work, rows); }
void run(const GruBackward& work, Rows rows) { run_typed(work, rows); }
void run(const RnnForward& work, Rows rows) { run_typed(work, rows); }
void run(const RnnBackward& work, Rows rows) { run_typed(work, rows); }

}  // namespace rnnlab::kernels
