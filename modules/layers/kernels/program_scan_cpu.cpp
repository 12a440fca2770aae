// SPDX-License-Identifier: Apache-2.0
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>

#include "layers/kernels/program_scan.h"

namespace rnnlab::kernels {
namespace {

// Runs the alive steps of sequences that have equally many.
template <class T>
class StepsOfRows {
  using Acc = Accumulation<T>;

 public:
  StepsOfRows(const ProgramScan& scan, Rows rows, int64_t num_steps) : scan_(scan), rows_(rows), num_steps_(num_steps) {
    step_ = {.step = scan.step,
             .pass = scan.pass,
             .program = scan.program,
             .columns = scan.columns,
             .instructions = scan.instructions,
             .num_instructions = scan.num_instructions,
             .vectors = scan.vectors,
             .carry = scan.carry};
    step_.products.bias_ih = scan.no_bias;
  }

  void run_forward() {
    for (int64_t i = 0; i < num_steps_; ++i) {
      set_step(i);
      step_.products.input = at<T>(scan_.sums, time_of(i), scan_.columns.input);
      run(step_, rows_);
    }
    copy<T>(step_.hidden_after, 1, scan_.final_hidden);
    copy<Acc>(step_.inner_after, scan_.columns.inner, scan_.final_inner);
  }

  void run_backward() {
    step_.vector_gradients = scan_.step_vector_gradients;
    for (int64_t i = num_steps_; i-- > 0;) {
      set_step(i);
      const bool is_last = i == num_steps_ - 1;
      step_.hidden_gradient = {at<T>(scan_.hidden_gradients, time_of(i), 1),
                               is_last ? scan_.final_hidden_gradient : nullptr};
      step_.inner_gradient = is_last ? scan_.final_inner_gradient : nullptr;
      step_.input_side = at<T>(scan_.sum_gradients, time_of(i), scan_.columns.input);
      run(step_, rows_);
      add_vector_gradients();
    }
  }

 private:
  void add_vector_gradients() const {
    const int64_t size = scan_.columns.vectors * scan_.step.hidden_size;
    auto* const sums = static_cast<Acc*>(scan_.vector_gradients);
    for (int64_t k = rows_.first * size; k < rows_.last * size; ++k) sums[k] += load<T>(step_.vector_gradients, k);
  }

  int64_t time_of(int64_t i) const { return scan_.is_reversed ? num_steps_ - 1 - i : i; }

  // Returns step `time` of a tensor (T, B, columns * H).
  template <class Type>
  Type* at(const void* data, int64_t time, int64_t num_columns) const {
    const int64_t size = scan_.step.batch_size * num_columns * scan_.step.hidden_size;
    return data == nullptr ? nullptr : const_cast<Type*>(static_cast<const Type*>(data)) + time * size;
  }

  // Sets the states and the kept values of step number i in the order of the scan.
  void set_step(int64_t i) {
    const int64_t time = time_of(i);
    const StepColumns& columns = scan_.columns;
    if (scan_.starts != nullptr) step_.starts = scan_.starts + time * scan_.step.batch_size;
    step_.hidden_before = i == 0 ? scan_.initial_hidden : at<T>(scan_.hidden, time_of(i - 1), 1);
    step_.inner_before = i == 0 ? scan_.initial_inner : at<Acc>(scan_.inner, time_of(i - 1), columns.inner);
    step_.hidden_after = at<T>(scan_.hidden, time, 1);
    step_.inner_after = at<Acc>(scan_.inner, time, columns.inner);
    step_.kept = at<T>(scan_.sums, time, columns.input);
    step_.more_kept = at<T>(scan_.more_kept, time, std::max<int64_t>(0, columns.kept - columns.input));
  }

  template <class Type>
  void copy(const void* from, int64_t num_columns, void* to) const {
    const int64_t size = num_columns * scan_.step.hidden_size;
    std::copy_n(static_cast<const Type*>(from) + rows_.first * size, (rows_.last - rows_.first) * size,
                static_cast<Type*>(to) + rows_.first * size);
  }

  const ProgramScan& scan_;
  Rows rows_;
  int64_t num_steps_;
  ProgramStep step_;
};

int64_t num_alive(const ProgramScan& scan, int64_t row) {
  int64_t count = 0;
  while (count < scan.num_steps && scan.alive[count * scan.step.batch_size + row]) ++count;
  return count;
}

void run_rows(const ProgramScan& scan, Rows rows, int64_t num_steps) {
  with_element_type<c10::Half, c10::BFloat16>(scan.step.type, [&](auto element) {
    StepsOfRows<decltype(element)> steps(scan, rows, num_steps);
    if (scan.pass == StepPass::kForward)
      steps.run_forward();
    else
      steps.run_backward();
  });
}

}  // namespace

void run(const ProgramScan& scan, Rows rows) {
  if (scan.alive == nullptr) return run_rows(scan, rows, scan.num_steps);
  for (int64_t row = rows.first; row < rows.last; ++row) run_rows(scan, {row, row + 1}, num_alive(scan, row));
}

}  // namespace rnnlab::kernels
