// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "recurrent/blocked/blocked_pass.h"
#include "recurrent/blocked/cpu_buffer_pool.h"
#include "recurrent/blocked/panel.h"
#include "recurrent/blocked/work_split.h"
#include "recurrent/unrolled/step_runner.h"

namespace rnnlab {
namespace {

// Gradients of the gates are computed for several steps at a time, for this number of rows, and used while they are in
// the cache. More threads have more cache, and should have more work between two synchronisations.
int64_t rows_together() {
  constexpr int64_t kLeastRows = 1024, kRowsOfThread = 256;
  return std::max(kLeastRows, kRowsOfThread * at::get_num_threads());
}

class BlockedBackward {
 public:
  BlockedBackward(const UnrolledSpec& spec, const LayerTrace& trace, const ResultGradients& results,
                  NeededGradients needs)
      : spec_(spec),
        trace_(trace),
        needs_(needs),
        steps_together_(std::clamp<int64_t>(rows_together() / trace.batch_size(), 1, trace.num_steps())),
        gradients_(make_gradients(results)),
        size_(make_size()),
        recurrent_(PackedMatrix::of(trace.weights.weight_hh)),
        sums_(empty_pooled({size_.num_blocks, size_.batch_size, kPanelWidth}, at::kFloat)),
        next_(at::empty_like(trace.gates[0])) {}

  PassGradients run() {
    if (needs_.input) {
      result_.input = empty_pooled(trace_.input.sizes(), trace_.input.options());
      input_ = PackedMatrix::of(trace_.weights.weight_ih);
    }
    WeightSums weights(trace_, steps_together_ * size_.batch_size);
    for (int64_t last = trace_.num_steps(); last > 0; last -= steps_together_)
      run_steps({std::max<int64_t>(0, last - steps_together_), last}, weights);
    result_.initial.push_back(initial_gradients());
    if (needs_.weights) result_.weights.push_back(weights.gradients(spec_.cell));
    return result_;
  }

 private:
  struct WeightSums {
    WeightSums(const LayerTrace& trace, int64_t most_rows)
        : type(trace.gates.scalar_type()),
          input_side(trace.gates.size(2), trace.input.size(2), most_rows, type),
          recurrent_side(trace.gates.size(2), trace.hidden_size(), most_rows, type),
          bias_ih(at::zeros({trace.gates.size(2)}, at::kFloat)),
          bias_hh(at::zeros_like(bias_ih)) {}

    WeightGradients gradients(Cell cell) const {
      const at::Tensor input_bias = bias_ih.to(type);
      return {input_side.result(), recurrent_side.result(), input_bias,
              has_two_sides(cell) ? bias_hh.to(type) : input_bias};
    }

    at::ScalarType type;
    WeightProduct input_side, recurrent_side;
    at::Tensor bias_ih, bias_hh;
  };

  LayerGradients make_gradients(const ResultGradients& results) const {
    LayerGradients gradients;
    gradients.output = results.hidden[0];
    if (!results.cell.empty()) gradients.cell_output = results.cell[0];
    gradients.input_side =
        empty_pooled({steps_together_, trace_.batch_size(), trace_.gates.size(2)}, trace_.gates.options());
    const bool has_both = has_two_sides(spec_.cell);
    gradients.recurrent_side =
        has_both ? empty_pooled(gradients.input_side.sizes(), trace_.gates.options()) : gradients.input_side;
    if (has_cell_state(spec_.cell) || has_both)
      gradients.carry = at::zeros_like(trace_.hidden[0], trace_.hidden.options().dtype(at::kFloat));
    return gradients;
  }

  RecurrenceSize make_size() const {
    return {steps_together_, trace_.batch_size(), (trace_.hidden_size() + kPanelWidth - 1) / kPanelWidth,
            trace_.gates.size(2) * kPanelWidth, trace_.gates.scalar_type()};
  }

  // Computes the gradients of some steps, and then the gradients that depend on them.
  void run_steps(const Steps& steps, WeightSums& weights) {
    const int64_t first = first_position_of(spec_.direction, steps, trace_.num_steps());
    RecurrenceSize size = size_;
    size.num_steps = steps.size();
    run_recurrence(size, [&](int64_t step, const kernels::Range& rows, const kernels::Range& blocks) {
      run_step(steps.last - 1 - step, steps, rows, blocks);
    });
    next_.copy_(gradients_.recurrent_side[position_of(spec_.direction, steps.first, trace_.num_steps()) - first]);

    const at::Tensor input_side = matrix_of(gradients_.input_side, 0, steps.size());
    if (needs_.input) multiply_all(input_side, input_, matrix_of(result_.input, first, steps.size()));
    if (!needs_.weights) return;
    const at::Tensor recurrent_side = matrix_of(gradients_.recurrent_side, 0, steps.size());
    weights.input_side.add(input_side, matrix_of(trace_.input, first, steps.size()));
    weights.recurrent_side.add(recurrent_side,
                               matrix_of(states_before(spec_.direction, trace_.hidden), first, steps.size()));
    weights.bias_ih.add_(input_side.sum(0, /*keepdim=*/false, at::kFloat));
    if (has_two_sides(spec_.cell)) weights.bias_hh.add_(recurrent_side.sum(0, /*keepdim=*/false, at::kFloat));
  }

  // Computes the step that is read as number `i`.
  void run_step(int64_t i, const Steps& steps, const kernels::Range& rows, const kernels::Range& blocks) {
    const ProductSeries series(trace_.gates.scalar_type());
    const int64_t t = position_of(spec_.direction, i, trace_.num_steps());
    const int64_t first = first_position_of(spec_.direction, steps, trace_.num_steps());
    for (int64_t block = blocks.first; block < blocks.last; ++block) {
      const int64_t unit = block * kPanelWidth;
      kernels::Sums sums = {nullptr, kPanelWidth, 0, rows.first, unit};
      if (i + 1 < trace_.num_steps()) sums.data = multiply_next_step(i, steps, rows, block);
      const kernels::Part part = {rows, {unit, std::min(unit + kPanelWidth, trace_.hidden_size())}};
      with_backward_work(spec_, trace_, gradients_, /*from_next_step=*/nullptr, t, t - first,
                         [&](const auto& work) { kernels::run(*kernels::simd_steps(), work, sums, part); });
    }
  }

  const float* multiply_next_step(int64_t i, const Steps& steps, const kernels::Range& rows, int64_t block) const {
    float* sums = sums_.mutable_data_ptr<float>() + (block * size_.batch_size + rows.first) * kPanelWidth;
    multiply(rows_after(i, steps, rows), recurrent_.panel(block), {sums, kPanelWidth}, Accumulate::kOverwrite);
    return sums;
  }

  // Returns the recurrent side's gradients of the step that is read after number `i`.
  RowBlock rows_after(int64_t i, const Steps& steps, const kernels::Range& rows) const {
    const int64_t first = first_position_of(spec_.direction, steps, trace_.num_steps());
    const void* data = i + 1 == steps.last ? next_.const_data_ptr()
                                           : row(gradients_.recurrent_side,
                                                 position_of(spec_.direction, i + 1, trace_.num_steps()) - first);
    const int64_t width = next_.size(1);
    const auto offset = rows.first * width * static_cast<int64_t>(next_.element_size());
    return {static_cast<const std::byte*>(data) + offset, width, rows.last - rows.first};
  }

  InitialGradients initial_gradients() const {
    const at::Tensor hidden = at::empty_like(trace_.hidden[0]);
    multiply_all(next_, recurrent_, hidden);
    if (has_cell_state(spec_.cell)) return {hidden, gradients_.carry};
    if (has_two_sides(spec_.cell)) hidden.add_(gradients_.carry);
    return {hidden, {}};
  }

  const UnrolledSpec& spec_;
  const LayerTrace& trace_;
  NeededGradients needs_;
  int64_t steps_together_;
  LayerGradients gradients_;  // of both sides, for the present steps
  RecurrenceSize size_;
  PackedMatrix recurrent_, input_;
  at::Tensor sums_;
  at::Tensor next_;  // (B, G * H): the recurrent side's gradients of the step after the present steps
  PassGradients result_;
};

}  // namespace

PassGradients run_blocked_backward(const UnrolledSpec& spec, const LayerTrace& trace, const ResultGradients& results,
                                   NeededGradients needs) {
  return BlockedBackward(spec, trace, results, needs).run();
}

}  // namespace rnnlab
