// SPDX-License-Identifier: Apache-2.0
#include "layers/blocked/blocked_pass.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "layers/blocked/panel.h"
#include "layers/blocked/work_split.h"
#include "layers/cpu_buffer_pool.h"
#include "layers/device/number_types.h"
#include "layers/unrolled/step_runner.h"

namespace rnnlab {
namespace {

// ---- the forward pass ----

using kernels::Range;

// The inputs of several steps are multiplied together, so that about this number of rows share a panel.
constexpr int64_t kRowsOfInputs = 64;

// The sum to which a gate's product is written or added.
struct GateSum {
  int64_t sum;
  Accumulate accumulate;
};

// The input's products are computed first. A gate whose sides are read apart, as a GRU's candidate, has a sum of the
// input and one of the hidden state.
std::vector<GateSum> input_sums(const StepCode& code) {
  std::vector<GateSum> sums;
  for (int64_t column = 0; column < code.columns.input; ++column) sums.push_back({column, Accumulate::kOverwrite});
  return sums;
}

std::vector<GateSum> recurrent_sums(const StepCode& code) {
  std::vector<GateSum> sums;
  for (const int64_t place : code.hidden_places)
    sums.push_back({place, place < code.columns.input ? Accumulate::kAdd : Accumulate::kOverwrite});
  return sums;
}

// Holds one side's weights, gate by gate, and the sums of its products.
struct Side {
  PackedMatrix weights;
  std::vector<GateSum> sums;
};

RowBlock rows_of(const at::Tensor& tensor, int64_t t, const Range& rows) {
  const int64_t width = tensor.size(2);
  const auto* data = static_cast<const std::byte*>(row(tensor, t));
  return {data + rows.first * width * static_cast<int64_t>(tensor.element_size()), width, rows.last - rows.first};
}

class BlockedForward {
 public:
  BlockedForward(const UnrolledSpec& spec, LayerTrace& trace)
      : spec_(spec),
        trace_(trace),
        num_sums_(spec.code->num_sums()),
        size_(make_size()),
        steps_together_(make_steps_together()),
        input_{PackedMatrix::of_transposed(trace.weights.weight_ih, spec.code->columns.input), input_sums(*spec.code)},
        recurrent_{PackedMatrix::of_transposed(trace.weights.weight_hh, spec.code->columns.hidden),
                   recurrent_sums(*spec.code)},
        sums_(
            empty_pooled({size_.num_blocks, steps_together_, size_.batch_size, num_sums_ * kPanelWidth}, at::kFloat)) {}

  void run() {
    run_recurrence(size_, [&](int64_t step, const Range& rows, const Range& blocks) { run_step(step, rows, blocks); });
  }

 private:
  RecurrenceSize make_size() const {
    const kernels::StepColumns& columns = spec_.code->columns;
    const int64_t products = columns.input * trace_.input.size(2) + columns.hidden * trace_.hidden_size();
    return {trace_.num_steps(), trace_.batch_size(), (trace_.hidden_size() + kPanelWidth - 1) / kPanelWidth,
            products * kPanelWidth, trace_.gates.scalar_type()};
  }

  int64_t make_steps_together() const {
    return std::clamp<int64_t>(kRowsOfInputs / size_.batch_size, 1, size_.num_steps);
  }

  void run_step(int64_t step, const Range& rows, const Range& blocks) {
    const ProductSeries series(trace_.gates.scalar_type());
    for (int64_t block = blocks.first; block < blocks.last; ++block) {
      if (step % steps_together_ == 0) multiply_inputs(step, rows, block);
      const int64_t t = position_of(spec_.direction, step, size_.num_steps);
      const int64_t before = state_rows(spec_.direction, t).before;
      multiply_gates(recurrent_, rows_of(trace_.hidden_of_products(), before, rows), sums_of(step, rows, block), block);
      activate(step, t, rows, block);
    }
  }

  // Multiplies the inputs of the steps from `step` on that are computed together. Whole batches of neighbouring steps
  // form one matrix.
  void multiply_inputs(int64_t step, const Range& rows, int64_t block) {
    const Steps steps = together_with(step);
    const int64_t first = first_position_of(spec_.direction, steps, size_.num_steps);
    if (rows.last - rows.first == size_.batch_size)
      return multiply_gates(input_, rows_of(trace_.input, first, {0, steps.size() * size_.batch_size}),
                            sums_at(0, rows, block), block);
    for (int64_t i = 0; i < steps.size(); ++i)
      multiply_gates(input_, rows_of(trace_.input, first + i, rows), sums_at(i, rows, block), block);
  }

  Steps together_with(int64_t step) const {
    const int64_t first = step - step % steps_together_;
    return {first, std::min(first + steps_together_, size_.num_steps)};
  }

  void multiply_gates(const Side& side, const RowBlock& rows, float* sums, int64_t block) const {
    for (size_t gate = 0; gate < side.sums.size(); ++gate) {
      const auto [sum, accumulate] = side.sums[gate];
      const Panel panel = side.weights.panel(static_cast<int64_t>(gate) * size_.num_blocks + block);
      multiply(rows, panel, {sums + sum * kPanelWidth, num_sums_ * kPanelWidth}, accumulate);
    }
  }

  // Returns (rows, sums * 64) of a block of units, for a step or for the i-th of the steps that are computed together.
  float* sums_of(int64_t step, const Range& rows, int64_t block) const {
    const int64_t place = position_of(spec_.direction, step, size_.num_steps);
    return sums_at(place - first_position_of(spec_.direction, together_with(step), size_.num_steps), rows, block);
  }
  float* sums_at(int64_t i, const Range& rows, int64_t block) const {
    const int64_t matrix = block * steps_together_ + i;
    return sums_.mutable_data_ptr<float>() + (matrix * size_.batch_size + rows.first) * num_sums_ * kPanelWidth;
  }

  void activate(int64_t step, int64_t t, const Range& rows, int64_t block) const {
    const int64_t unit = block * kPanelWidth;
    const kernels::Sums sums = {sums_of(step, rows, block), num_sums_ * kPanelWidth, kPanelWidth, rows.first, unit};
    const kernels::Part part = {rows, {unit, std::min(unit + kPanelWidth, trace_.hidden_size())}};
    kernels::simd_steps()->run(forward_work(spec_, trace_, products_of(trace_, /*recurrent=*/nullptr, t), t), sums,
                               part);
  }

  const UnrolledSpec& spec_;
  LayerTrace& trace_;
  int64_t num_sums_;
  RecurrenceSize size_;
  int64_t steps_together_;
  Side input_, recurrent_;
  at::Tensor sums_;
};

}  // namespace

bool can_run_blocked(at::ScalarType type) { return has_panel_products(type); }

namespace {

// The steps of float32 do not use the instructions for BF16, although they are compiled with them.
std::string_view steps_name(at::ScalarType type) {
  constexpr std::string_view kBf16 = " BF16";
  std::string_view name = kernels::simd_steps()->name;
  if (type == at::kFloat && name.ends_with(kBf16)) name.remove_suffix(kBf16.size());
  return name;
}

}  // namespace

ExecutionPath blocked_path(at::ScalarType type) {
  const char* kernels_name = multiplies_by_tiles(type) ? "kernels for tile units (AMX)" : "oneDNN's block kernels";
  return {fmt::format("{} ({}), {} steps", kernels_name, number_type_name(type), steps_name(type)), {}};
}

void run_blocked_forward(const UnrolledSpec& spec, LayerTrace& trace) { BlockedForward(spec, trace).run(); }

namespace {

// ---- the backward pass ----

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
        next_(at::empty({trace.batch_size(), trace.weights.weight_hh.size(0)}, trace.gates.options())) {}

  PassGradients run() {
    if (needs_.input) {
      result_.input = empty_pooled(trace_.input.sizes(), trace_.input.options());
      input_ = PackedMatrix::of(trace_.weights.weight_ih);
    }
    WeightSums weights(spec_, trace_, steps_together_ * size_.batch_size);
    for (int64_t last = trace_.num_steps(); last > 0; last -= steps_together_)
      run_steps({std::max<int64_t>(0, last - steps_together_), last}, weights);
    const at::Tensor from_first_step = at::empty_like(trace_.hidden[0]);
    multiply_all(next_, recurrent_, from_first_step);
    result_.initial.push_back(initial_gradients(spec_, from_first_step, gradients_.carry));
    if (needs_.weights) result_.weights.push_back(weights.gradients());
    return result_;
  }

 private:
  struct WeightSums {
    WeightSums(const PassSpec& spec, const LayerTrace& trace, int64_t most_rows)
        : type(trace.gates.scalar_type()),
          has_hidden_bias(trace.weights.bias_hh.defined()),
          input_side(trace.weights.weight_ih.size(0), trace.input.size(2), most_rows, type),
          recurrent_side(trace.weights.weight_hh.size(0), trace.hidden_size(), most_rows, type),
          bias_ih(zeros_as(trace.weights.bias_ih)) {
      if (has_hidden_bias && spec.has_two_sides()) bias_hh = zeros_as(trace.weights.bias_hh);
      if (trace.weights.vectors.defined()) vectors = zeros_as(trace.weights.vectors);
    }

    static at::Tensor zeros_as(const at::Tensor& weight) { return at::zeros(weight.sizes(), at::kFloat); }

    static void add(at::Tensor& sum, const at::Tensor& rows) {
      if (sum.defined()) sum.add_(rows.sum(0, /*keepdim=*/false, at::kFloat));
    }

    WeightGradients gradients() const {
      const auto in_type = [&](const at::Tensor& sum) { return sum.defined() ? sum.to(type) : at::Tensor(); };
      const at::Tensor input_bias = bias_ih.to(type);
      const bool is_one_sum = has_hidden_bias && !bias_hh.defined();
      return {input_side.result(), recurrent_side.result(), input_bias, is_one_sum ? input_bias : in_type(bias_hh),
              in_type(vectors)};
    }

    at::ScalarType type;
    bool has_hidden_bias;
    WeightProduct input_side, recurrent_side;
    at::Tensor bias_ih, bias_hh, vectors;  // undefined if there is no such sum
  };

  LayerGradients make_gradients(const ResultGradients& results) const {
    LayerGradients gradients;
    gradients.output = results.hidden[0];
    if (!results.cell.empty()) gradients.cell_output = results.cell[0];
    set_sides(gradients, spec_, trace_, steps_together_, empty_pooled);
    gradients.carry = make_carry(spec_, trace_);
    return gradients;
  }

  RecurrenceSize make_size() const {
    return {steps_together_, trace_.batch_size(), (trace_.hidden_size() + kPanelWidth - 1) / kPanelWidth,
            trace_.weights.weight_hh.size(0) * kPanelWidth, trace_.gates.scalar_type()};
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
    weights.recurrent_side.add(
        recurrent_side, matrix_of(states_before(spec_.direction, trace_.hidden_of_products()), first, steps.size()));
    WeightSums::add(weights.bias_ih, input_side);
    WeightSums::add(weights.bias_hh, recurrent_side);
    if (gradients_.vectors.defined()) WeightSums::add(weights.vectors, matrix_of(gradients_.vectors, 0, steps.size()));
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
      const kernels::HiddenGradient hidden = {.from_output = row(gradients_.output, t)};
      kernels::simd_steps()->run(backward_work(spec_, trace_, gradients_, hidden, t, t - first), sums, part);
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
