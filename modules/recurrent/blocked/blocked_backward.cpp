#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "recurrent/blocked/blocked_pass.h"
#include "recurrent/blocked/panel.h"
#include "recurrent/blocked/weight_product.h"
#include "recurrent/blocked/work_split.h"
#include "recurrent/unrolled/step_work.h"

namespace rnnlab {
namespace {

class BlockedBackward {
 public:
  BlockedBackward(const UnrolledSpec& spec, const LayerTrace& trace, const ResultGradients& results)
      : spec_(spec),
        trace_(trace),
        gradients_(make_gradients(results)),
        size_(make_size()),
        recurrent_(PackedMatrix::of(trace.weights.weight_hh)),
        sums_(at::empty({size_.num_blocks, size_.batch_size, kPanelWidth}, at::kFloat)) {}

  PassGradients run(Needs needs) {
    run_recurrence(
        size_,
        [&](int64_t step, const kernels::Range& rows, const kernels::Range& blocks) { run_step(step, rows, blocks); },
        [&] { end_products(trace_.gates.scalar_type()); });
    PassGradients result;
    if (needs.input) {
      result.input = at::empty_like(trace_.input);
      multiply_all(matrix_of(gradients_.input_side), PackedMatrix::of(trace_.weights.weight_ih),
                   matrix_of(result.input));
    }
    result.initial.push_back(initial_gradients());
    if (needs.weights) result.weights.push_back(weight_gradients());
    return result;
  }

 private:
  LayerGradients make_gradients(const ResultGradients& results) const {
    LayerGradients gradients;
    gradients.output = results.hidden[0];
    if (!results.cell.empty()) gradients.cell_output = results.cell[0];
    gradients.input_side = at::empty_like(trace_.gates);
    gradients.recurrent_side = spec_.cell == Cell::kGru ? at::empty_like(trace_.gates) : gradients.input_side;
    if (spec_.cell == Cell::kLstm || spec_.cell == Cell::kGru)
      gradients.carry = at::zeros_like(trace_.hidden[0], trace_.hidden.options().dtype(at::kFloat));
    return gradients;
  }

  RecurrenceSize make_size() const {
    return {trace_.num_steps(), trace_.batch_size(), (trace_.hidden_size() + kPanelWidth - 1) / kPanelWidth,
            trace_.gates.size(2) * kPanelWidth};
  }

  // Steps are counted from the last one read back to the first.
  int64_t place_of_step(int64_t step) const {
    return place_of(spec_.direction, size_.num_steps - 1 - step, size_.num_steps);
  }

  void run_step(int64_t step, const kernels::Range& rows, const kernels::Range& blocks) {
    for (int64_t block = blocks.first; block < blocks.last; ++block) {
      const int64_t unit = block * kPanelWidth;
      kernels::Sums sums = {nullptr, kPanelWidth, 0, rows.first, unit};
      if (step > 0) sums.data = multiply_next_step(step, rows, block);
      const kernels::Part part = {rows, {unit, std::min(unit + kPanelWidth, trace_.hidden_size())}};
      with_backward_work(spec_, trace_, gradients_, /*from_next_step=*/nullptr, place_of_step(step),
                         [&](const auto& work) { kernels::run(*kernels::simd_steps(), work, sums, part); });
    }
  }

  const float* multiply_next_step(int64_t step, const kernels::Range& rows, int64_t block) const {
    const at::Tensor& side = gradients_.recurrent_side;
    const int64_t width = side.size(2);
    const auto* next = static_cast<const std::byte*>(row(side, place_of_step(step - 1)));
    float* sums = sums_.mutable_data_ptr<float>() + (block * size_.batch_size + rows.first) * kPanelWidth;
    multiply({next + rows.first * width * static_cast<int64_t>(side.element_size()), width, rows.last - rows.first},
             recurrent_.panel(block), {sums, kPanelWidth}, Onto::kNothing);
    return sums;
  }

  InitialGradients initial_gradients() const {
    const at::Tensor first = gradients_.recurrent_side[place_of_step(size_.num_steps - 1)];
    const at::Tensor hidden = at::empty_like(trace_.hidden[0]);
    multiply_all(first, recurrent_, hidden);
    if (spec_.cell == Cell::kLstm) return {hidden, gradients_.carry};
    if (spec_.cell == Cell::kGru) hidden.add_(gradients_.carry);
    return {hidden, {}};
  }

  WeightGradients weight_gradients() const {
    const at::Tensor input_side = matrix_of(gradients_.input_side);
    const at::Tensor recurrent_side = matrix_of(gradients_.recurrent_side);
    const at::ScalarType type = input_side.scalar_type();
    WeightGradients weights;
    weights.weight_ih = multiply_over_rows(input_side, matrix_of(trace_.input)).to(type).contiguous();
    weights.weight_hh = multiply_over_rows(recurrent_side, matrix_of(states_before(spec_.direction, trace_.hidden)))
                            .to(type)
                            .contiguous();
    weights.bias_ih = input_side.sum(0);
    weights.bias_hh = spec_.cell == Cell::kGru ? recurrent_side.sum(0) : weights.bias_ih;
    return weights;
  }

  const UnrolledSpec& spec_;
  const LayerTrace& trace_;
  LayerGradients gradients_;
  RecurrenceSize size_;
  PackedMatrix recurrent_;
  at::Tensor sums_;
};

}  // namespace

PassGradients run_blocked_backward(const UnrolledSpec& spec, const LayerTrace& trace, const ResultGradients& results,
                                   Needs needs) {
  return BlockedBackward(spec, trace, results).run(needs);
}

}  // namespace rnnlab
