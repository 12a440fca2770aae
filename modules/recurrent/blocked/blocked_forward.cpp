// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>

#include <algorithm>

#include "recurrent/blocked/blocked_pass.h"
#include "recurrent/blocked/cpu_buffer_pool.h"
#include "recurrent/blocked/panel.h"
#include "recurrent/blocked/work_split.h"
#include "recurrent/device/number_types.h"
#include "recurrent/unrolled/step_runner.h"

namespace rnnlab {
namespace {

using kernels::Range;

// The inputs of several steps are multiplied together, so that about this number of rows share a panel.
constexpr int64_t kRowsOfInputs = 64;

// The sum to which a gate's product is written or added.
struct GateSum {
  int64_t sum;
  Accumulate accumulate;
};

// The input's products are computed first. A GRU's candidate needs one sum of the input and one of the hidden state,
// because the reset gate multiplies only the second.
std::vector<GateSum> input_sums(Cell cell) {
  std::vector<GateSum> sums;
  for (int64_t gate = 0; gate < num_gates(cell); ++gate) sums.push_back({gate, Accumulate::kOverwrite});
  return sums;
}

std::vector<GateSum> recurrent_sums(Cell cell) {
  std::vector<GateSum> sums = input_sums(cell);
  for (GateSum& sum : sums) sum.accumulate = Accumulate::kAdd;
  if (has_two_sides(cell)) sums[2] = {3, Accumulate::kOverwrite};
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
        num_sums_(num_gates(spec.cell) + (has_two_sides(spec.cell) ? 1 : 0)),
        size_(make_size()),
        steps_together_(make_steps_together()),
        input_{PackedMatrix::of_transposed(trace.weights.weight_ih, num_gates(spec.cell)), input_sums(spec.cell)},
        recurrent_{PackedMatrix::of_transposed(trace.weights.weight_hh, num_gates(spec.cell)),
                   recurrent_sums(spec.cell)},
        sums_(
            empty_pooled({size_.num_blocks, steps_together_, size_.batch_size, num_sums_ * kPanelWidth}, at::kFloat)) {}

  void run() {
    run_recurrence(size_, [&](int64_t step, const Range& rows, const Range& blocks) { run_step(step, rows, blocks); });
  }

 private:
  RecurrenceSize make_size() const {
    const int64_t depth = trace_.hidden_size() + trace_.input.size(2);
    return {trace_.num_steps(), trace_.batch_size(), (trace_.hidden_size() + kPanelWidth - 1) / kPanelWidth,
            depth * kPanelWidth * num_gates(spec_.cell), trace_.gates.scalar_type()};
  }

  int64_t make_steps_together() const {
    return std::clamp<int64_t>(kRowsOfInputs / size_.batch_size, 1, size_.num_steps);
  }

  void run_step(int64_t step, const Range& rows, const Range& blocks) {
    const ProductSeries series(trace_.gates.scalar_type());
    for (int64_t block = blocks.first; block < blocks.last; ++block) {
      if (step % steps_together_ == 0) multiply_inputs(step, rows, block);
      const int64_t t = position_of(spec_.direction, step, size_.num_steps);
      const auto [before, after] = state_rows(spec_.direction, t);
      multiply_gates(recurrent_, rows_of(trace_.hidden, before, rows), sums_of(step, rows, block), block);
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
    with_forward_work(spec_, trace_, /*recurrent=*/nullptr, t,
                      [&](const auto& work) { kernels::run(*kernels::simd_steps(), work, sums, part); });
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

}  // namespace rnnlab
