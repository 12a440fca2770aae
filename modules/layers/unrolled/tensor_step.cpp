// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/tensor_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "layers/program/tensor_operations.h"
#include "layers/segments.h"

namespace rnnlab {
namespace {

using kernels::kNoColumn;
using kernels::TileAction;
using kernels::TileInstruction;

// Values that a step writes at its end, because they may take the place of what it reads: one operator for all columns
// of a tensor.
class Results {
 public:
  void put(size_t column, const at::Tensor& value) {
    columns_.resize(std::max(columns_.size(), column + 1));
    columns_[column] = value;
  }

  // Writes num_columns columns from `first` on into the same number of columns of `target` (B, n * H).
  void write(const at::Tensor& target, int64_t first, int64_t num_columns) const {
    if (num_columns == 0) return;
    std::vector<at::Tensor> parts(columns_.begin() + first, columns_.begin() + first + num_columns);
    // at::cat refuses to read what it writes, as a gradient that the step passes on unchanged.
    for (at::Tensor& part : parts)
      if (part.is_alias_of(target)) part = part.clone();
    at::Tensor out = target.narrow(1, 0, num_columns * parts[0].size(1));
    at::cat_out(out, parts, 1);
  }

 private:
  std::vector<at::Tensor> columns_;
};

// Runs the instructions of a pass. All that is computed has the accumulation type.
class TensorStep {
  using enum TileAction;

 public:
  TensorStep(const UnrolledSpec& spec, const LayerTrace& trace, int64_t t)
      : code_(*spec.code),
        trace_(trace),
        rows_(state_rows(spec.direction, t)),
        t_(t),
        starts_(spec.starts_at(t)),
        next_starts_(spec.starts_at(step_after(spec.direction, t))),
        like_(acc(trace.hidden[0])) {}

  void run_forward(const at::Tensor& recurrent) {
    set_sums(recurrent);
    for (const TileInstruction& at : code_.forward) execute(at);
    results_[kStoreState].write(trace_.hidden[rows_.after], 0, 1);
    if (trace_.read_hidden.defined())
      trace_.read_hidden[rows_.after].copy_(zero_where(next_starts_, trace_.hidden[rows_.after]));
    if (trace_.cell.defined()) results_[kStoreState].write(trace_.cell[rows_.after], 1, code_.columns.inner);
    results_[kStoreKept].write(trace_.gates[t_], 0, num_first_kept());
    if (trace_.more_kept.defined())
      results_[kStoreKept].write(trace_.more_kept[t_], num_first_kept(), code_.columns.kept - num_first_kept());
  }

  void run_operands(const at::Tensor& recurrent) {
    set_sums(recurrent);
    for (const TileInstruction& at : code_.operands) execute(at);
    results_[kStoreOperand].write(trace_.operands[t_], 0, code_.columns.operands);
  }

  void run_product_sides(const LayerGradients& gradients, NextStep next) {
    set_gradients(gradients, next);
    for (const TileInstruction& at : code_.product_sides) execute(at);
    for (const uint8_t at : code_.operand_columns)
      results_[kStoreHiddenSide].write(column(gradients.recurrent_side[t_], at), at, 1);
  }

  void run_backward(const LayerGradients& gradients, NextStep next) {
    set_gradients(gradients, next);
    for (const TileInstruction& at : code_.backward) execute(at);
    results_[kStoreInputSide].write(gradients.input_side[t_], 0, code_.columns.input);
    if (code_.has_sides_apart) results_[kStoreHiddenSide].write(gradients.recurrent_side[t_], 0, code_.columns.hidden);
    if (gradients.carry.defined()) results_[kStoreCarry].write(gradients.carry, 0, code_.columns.carried);
    if (gradients.carry.defined() && starts_.defined()) gradients.carry.masked_fill_(starts_, 0);
    if (gradients.vectors.defined())
      results_[kStoreVectorGradient].write(gradients.vectors[t_], 0, code_.columns.vectors);
  }

 private:
  static at::Tensor acc(const at::Tensor& tensor) { return tensor.to(accumulation_type(tensor.scalar_type())); }
  at::Tensor column(const at::Tensor& tensor, int64_t index) const {
    return tensor.narrow(-1, index * trace_.hidden_size(), trace_.hidden_size());
  }
  int64_t num_first_kept() const { return std::min(code_.columns.kept, code_.columns.input); }

  // Adds neighbouring columns at once: all of an LSTM. Those that are not added to the input's come last.
  void set_sums(const at::Tensor& recurrent) {
    const int64_t size = trace_.hidden_size();
    const DirectionWeights& weights = trace_.weights;
    const at::Tensor input = acc(trace_.gates[t_]) + weights.bias_ih;
    for (int64_t i = 0; i < code_.columns.input; ++i) sums_.push_back(column(input, i));
    if (!recurrent.defined()) return;
    const at::Tensor hidden = weights.bias_hh.defined() ? acc(recurrent) + weights.bias_hh : acc(recurrent);
    const auto& places = code_.hidden_places;
    const auto is_next = [&](size_t i) { return places[i] == places[i - 1] + 1 && places[i] != code_.columns.input; };
    for (size_t first = 0, last = 0; first < places.size(); first = last) {
      for (last = first + 1; last < places.size() && is_next(last);) ++last;
      const auto begin = static_cast<int64_t>(first), count = static_cast<int64_t>(last - first);
      if (places[first] < code_.columns.input) {
        input.narrow(1, places[first] * size, count * size).add_(hidden.narrow(1, begin * size, count * size));
        continue;
      }
      for (int64_t i = begin; i < begin + count; ++i) sums_.push_back(column(hidden, i));
    }
  }

  void set_gradients(const LayerGradients& gradients, NextStep next) {
    operand_gradients_ = gradients.operands;
    for (size_t state = 0; state < code_.carry_columns.size(); ++state) {
      at::Tensor sum;
      const auto add = [&](const at::Tensor& part) { sum = sum.defined() ? sum + part : acc(part); };
      if (state == 0) {
        if (next == NextStep::kExists) add(zero_where(next_starts_, gradients.from_next_step));
        if (gradients.output.defined()) add(gradients.output[t_]);
      } else if (gradients.cell_output.defined()) {
        add(column(gradients.cell_output[t_], static_cast<int64_t>(state) - 1));
      }
      if (code_.carry_columns[state] != kNoColumn) add(column(gradients.carry, code_.carry_columns[state]));
      state_gradients_.push_back(sum.defined() ? sum : at::zeros_like(like_));
    }
  }

  at::Tensor state(int64_t row, uint8_t index) const {
    return index == 0 ? acc(trace_.hidden[row]) : column(trace_.cell[row], index - 1);
  }
  at::Tensor kept(uint8_t index) const {
    if (index < code_.columns.input) return acc(column(trace_.gates[t_], index));
    return acc(column(trace_.more_kept[t_], index - code_.columns.input));
  }

  Operand computed(const TileInstruction& at) const {
    switch (at.operation) {
      case Operation::kNumber:
        return {{}, at.number};
      case Operation::kGate:
      case Operation::kInputSide:
      case Operation::kHiddenSide:
        return {sums_[at.b], {}};
      case Operation::kState:
        return {zero_where(starts_, state(rows_.before, at.index)), {}};
      case Operation::kStateGradient:
        return {state_gradients_[at.index], {}};
      case Operation::kProductGradient:
        return {acc(column(operand_gradients_, at.index)), {}};
      case Operation::kVector:
        return {acc(column(trace_.weights.vectors, at.index)), {}};
      default:
        return {compute(at.operation, std::array{tiles_[at.a], tiles_[at.b], tiles_[at.c]}, like_), {}};
    }
  }

  void execute(const TileInstruction& at) {
    switch (at.action) {
      case kCompute:
        tiles_[at.target] = computed(at);
        return;
      case kLoadStateAfter:
        tiles_[at.target] = {state(rows_.after, at.index), {}};
        return;
      case kLoadKept:
        tiles_[at.target] = {kept(at.index), {}};
        return;
      case kStoreState:
      case kStoreKept:
      case kStoreInputSide:
      case kStoreHiddenSide:
      case kStoreCarry:
      case kStoreVectorGradient:
      case kStoreOperand:
        results_[at.action].put(at.index, whole(tiles_[at.a], like_));
    }
  }

  const StepCode& code_;
  const LayerTrace& trace_;
  StateRows rows_;
  int64_t t_;
  at::Tensor starts_, next_starts_;
  at::Tensor like_;                          // (B, H) acc
  std::vector<at::Tensor> sums_;             // (B, H) acc each, by place (StepCode)
  std::vector<at::Tensor> state_gradients_;  // likewise, by state
  std::array<Operand, kernels::kMostTiles> tiles_;
  at::Tensor operand_gradients_;           // (B, operands * H)
  std::map<TileAction, Results> results_;  // by the action that stores them
};

}  // namespace

void run_tensor_forward(const UnrolledSpec& spec, const LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  TensorStep(spec, trace, t).run_forward(recurrent);
}

void run_tensor_operands(const UnrolledSpec& spec, const LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  TensorStep(spec, trace, t).run_operands(recurrent);
}

void run_tensor_product_sides(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                              NextStep next, int64_t t) {
  TensorStep(spec, trace, t).run_product_sides(gradients, next);
}

void run_tensor_backward(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                         NextStep next, int64_t t) {
  TensorStep(spec, trace, t).run_backward(gradients, next);
}

}  // namespace rnnlab
