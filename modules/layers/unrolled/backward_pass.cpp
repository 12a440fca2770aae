// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/passes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "layers/segments.h"
#include "layers/unrolled/recurrent_product.h"
#include "layers/unrolled/stream_set.h"

namespace rnnlab {
namespace {

void sum_rows(at::Tensor& out, const at::Tensor& matrix) {
  at::sum_out(out, matrix, 0, /*keepdim=*/false, out.scalar_type());
}

// Many gates have equal gradients on both sides, as all but the candidate of a GRU, so that their sums are equal too.
void sum_recurrent_bias(const StepCode& code, const at::Tensor& recurrent_side, WeightGradients& weights) {
  const auto& equal = code.equal_input_columns;
  const int64_t size = recurrent_side.size(1) / std::ssize(equal);
  const auto is_next = [&](size_t before, size_t column) {
    const bool has_sum = equal[column] == kernels::kNoColumn;
    return has_sum ? equal[before] == kernels::kNoColumn : equal[column] == equal[before] + 1;
  };
  for (size_t first = 0, last = 0; first < equal.size(); first = last) {
    for (last = first + 1; last < equal.size() && is_next(last - 1, last);) ++last;
    const auto begin = static_cast<int64_t>(first) * size, length = static_cast<int64_t>(last - first) * size;
    at::Tensor sum = weights.bias_hh.narrow(0, begin, length);
    if (equal[first] == kernels::kNoColumn)
      sum_rows(sum, recurrent_side.narrow(1, begin, length));
    else
      sum.copy_(weights.bias_ih.narrow(0, equal[first] * size, length));
  }
}

}  // namespace

WeightGradients empty_weight_gradients(const PassSpec& spec, const LayerTrace& trace) {
  const DirectionWeights& weights = trace.weights;
  const auto empty_as = [&](const at::Tensor& weight) {
    return weight.defined() ? at::empty_like(weight, weight.options().dtype(spec.parameter_type)) : at::Tensor();
  };
  const at::Tensor bias_ih = empty_as(weights.bias_ih);
  const bool is_one_sum = weights.bias_hh.defined() && !spec.has_two_sides();
  const at::Tensor bias_hh = is_one_sum ? bias_ih : empty_as(weights.bias_hh);
  return {empty_as(weights.weight_ih), empty_as(weights.weight_hh), bias_ih, bias_hh, empty_as(weights.vectors)};
}

void multiply_weight_gradients(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                               WeightGradients& weights) {
  multiply_into(weights.weight_ih, matrix_of(gradients.input_side).t(), matrix_of(trace.input));
  const at::Tensor before = matrix_of(states_before(spec.direction, trace.hidden_of_products()));
  RecurrentProducts::multiply_weight(*spec.code, weights.weight_hh, matrix_of(gradients.recurrent_side), before,
                                     trace.operands.defined() ? matrix_of(trace.operands) : at::Tensor());
  sum_rows(weights.bias_ih, matrix_of(gradients.input_side));
  if (weights.vectors.defined()) sum_rows(weights.vectors, matrix_of(gradients.vectors));
  if (!spec.has_two_sides() || !weights.bias_hh.defined()) return;
  sum_recurrent_bias(*spec.code, matrix_of(gradients.recurrent_side), weights);
}

void set_sides(LayerGradients& gradients, const PassSpec& spec, const LayerTrace& trace, int64_t num_steps,
               Allocate allocate) {
  const auto side = [&](int64_t columns) {
    return allocate({num_steps, trace.batch_size(), columns * trace.hidden_size()}, trace.gates.options());
  };
  const kernels::StepColumns& columns = spec.code->columns;
  gradients.input_side = side(columns.input);
  gradients.recurrent_side = spec.has_two_sides() ? side(columns.hidden) : gradients.input_side;
  gradients.vectors = empty_vector_gradients(spec, trace, num_steps, allocate);
}

at::Tensor empty_vector_gradients(const PassSpec& spec, const LayerTrace& trace, int64_t num_steps, Allocate allocate) {
  const int64_t num_rows = spec.code->columns.vectors;
  if (num_rows == 0) return {};
  return allocate({num_steps, trace.batch_size(), num_rows * trace.hidden_size()}, trace.gates.options());
}

at::Tensor make_carry(const UnrolledSpec& spec, const LayerTrace& trace) {
  const int64_t num_columns = spec.code->columns.carried * trace.hidden_size();
  if (num_columns == 0) return {};
  const at::ScalarType type = accumulation_type(trace.hidden.scalar_type());
  return at::zeros({trace.batch_size(), num_columns}, trace.hidden.options().dtype(type));
}

InitialGradients initial_gradients(const UnrolledSpec& spec, const at::Tensor& from_first_step,
                                   const at::Tensor& carry) {
  const at::Tensor from_next_step = zero_where(spec.first_starts(), from_first_step);
  const int64_t size = from_next_step.size(1);
  const auto carried = [&](size_t state) {
    const auto column = spec.code->carry_columns[state];
    return column == kernels::kNoColumn ? at::Tensor() : carry.narrow(1, column * size, size);
  };
  InitialGradients initial = {from_next_step, {}};
  if (const at::Tensor hidden = carried(0); hidden.defined())
    initial.hidden = from_next_step + hidden.to(from_next_step.scalar_type());
  std::vector<at::Tensor> inner;
  for (size_t state = 1; state < spec.code->carry_columns.size(); ++state) {
    inner.push_back(carried(state));
    if (inner.back().defined()) continue;
    const at::ScalarType type = accumulation_type(from_next_step.scalar_type());
    inner.back() = at::zeros(from_next_step.sizes(), from_next_step.options().dtype(type));
  }
  if (!inner.empty()) initial.cell = inner.size() == 1 ? inner[0] : at::cat(inner, 1);
  return initial;
}

namespace {

class BackwardPass {
 public:
  BackwardPass(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks,
               const ResultGradients& results, NeededGradients needs)
      : spec_(spec),
        layers_(layers),
        masks_(masks),
        results_(results),
        needs_(needs),
        gradients_(make_gradients()),
        weights_(make_room_for_weights()),
        operands_(make_operands()),
        streams_(layers[0].gates.device(), /*num_side_streams=*/0, num_streams(spec, layers.size()) - 1),
        groups_(groups_of_steps(spec, layers[0].num_steps(), layers.size())) {}

  PassGradients run() {
    run_loop();
    for (size_t layer = 0; layer < weights_.size(); ++layer)
      streams_.run(product_stream(spec_, layer),
                   [&] { multiply_weight_gradients(spec_, layers_[layer], gradients_[layer], weights_[layer]); });
    streams_.join();
    PassGradients result = {gradients_[0].input, {}, weights_};
    for (const LayerGradients& gradients : gradients_)
      result.initial.push_back(initial_gradients(spec_, gradients.from_next_step, gradients.carry));
    return result;
  }

 private:
  struct Operands {
    at::Tensor weight_ih;  // (G * H, I), or undefined if its product is not needed
    RecurrentProducts products;
  };

  void run_loop() {
    along_diagonals(layers_.size(), groups_.size(), [&](size_t from_top, size_t from_last) {
      run_group(layers_.size() - 1 - from_top, groups_[groups_.size() - 1 - from_last]);
    });
  }

  void run_group(size_t layer, const Steps& steps) {
    const size_t product = product_stream(spec_, layer);
    const size_t recurrence = recurrence_stream(spec_, layer);
    if (layer + 1 < layers_.size()) streams_.order(product_stream(spec_, layer + 1), recurrence);
    streams_.run(recurrence, [&] {
      for (int64_t i = steps.last; i-- > steps.first;) run_step(layer, i);
    });
    streams_.order(recurrence, product);
    if (layer > 0 || needs_.input) streams_.run(product, [&] { multiply_inputs(layer, steps); });
  }

  void run_step(size_t layer, int64_t i) {
    const LayerTrace& trace = layers_[layer];
    LayerGradients& gradients = gradients_[layer];
    const int64_t t = position_of(spec_.direction, i, trace.num_steps());
    const bool has_next = spec_.has_recurrent_product() && i + 1 < trace.num_steps();
    const NextStep next = has_next ? NextStep::kExists : NextStep::kMissing;
    const RecurrentProducts& products = operands_[layer].products;
    if (gradients.operands.defined()) {
      run_product_sides_step(spec_, trace, gradients, next, t);
      products.multiply_operands_back(gradients.operands, gradients.recurrent_side[t]);
    }
    run_backward_step(spec_, trace, gradients, next, t);
    products.multiply_hidden_back(gradients.from_next_step, gradients.recurrent_side[t]);
  }

  // The gradient of the layer's input is the gradient of the outputs of the layer below.
  void multiply_inputs(size_t layer, const Steps& steps) {
    const LayerTrace& trace = layers_[layer];
    LayerGradients& gradients = gradients_[layer];
    const int64_t first = first_position_of(spec_.direction, steps, trace.num_steps());
    at::Tensor product = matrix_of(gradients.input, first, steps.size());
    at::mm_out(product, matrix_of(gradients.input_side, first, steps.size()), operands_[layer].weight_ih);
    if (layer == 0) return;
    const at::Tensor part = gradients.input.narrow(0, first, steps.size());
    if (!masks_.empty()) part.mul_(masks_[layer - 1].narrow(0, first, steps.size()));
    const at::Tensor& from_result = results_.hidden[layer - 1];
    if (from_result.defined()) part.add_(from_result.narrow(0, first, steps.size()));
  }

  // All gradients are allocated on the current stream, where they are used and freed, and not on the stream that fills
  // them. The gradient of each layer's outputs is the same tensor as the gradient of the inputs of the layer above.
  std::vector<LayerGradients> make_gradients() const {
    std::vector<LayerGradients> all(layers_.size());
    for (size_t layer = layers_.size(); layer-- > 0;) {
      const LayerTrace& trace = layers_[layer];
      LayerGradients& gradients = all[layer];
      const bool is_top = layer + 1 == layers_.size();
      gradients.output = is_top ? results_.hidden[layer] : all[layer + 1].input;
      if (!results_.cell.empty()) gradients.cell_output = results_.cell[layer];
      set_sides(gradients, spec_, trace, trace.num_steps(), empty_tensor);
      gradients.from_next_step =
          spec_.has_recurrent_product() ? at::empty_like(trace.hidden[0]) : at::zeros_like(trace.hidden[0]);
      gradients.carry = make_carry(spec_, trace);
      if (trace.operands.defined()) gradients.operands = at::empty_like(trace.operands[0]);
      if (layer > 0 || needs_.input) gradients.input = at::empty_like(trace.input);
    }
    return all;
  }

  std::vector<WeightGradients> make_room_for_weights() const {
    std::vector<WeightGradients> all;
    if (!needs_.weights) return all;
    for (const LayerTrace& trace : layers_) all.push_back(empty_weight_gradients(spec_, trace));
    return all;
  }

  // Without a copy, the inner index of the product is the weights' slow index here, but the fast index in the forward
  // pass, and cuBLAS is slower with a slow inner index.
  std::vector<Operands> make_operands() const {
    const FactorLayout layout = spec_.variant.pretransposes ? FactorLayout::kTransposed : FactorLayout::kAsTheyAre;
    std::vector<Operands> all;
    for (const LayerTrace& trace : layers_) {
      const bool multiplies_inputs = !all.empty() || needs_.input;
      all.push_back({multiplies_inputs ? in_layout(trace.weights.weight_ih, layout) : at::Tensor(),
                     RecurrentProducts(*spec_.code, trace.weights.weight_hh, trace.hidden_size(), layout)});
    }
    return all;
  }

  const UnrolledSpec& spec_;
  const std::vector<LayerTrace>& layers_;
  const std::vector<at::Tensor>& masks_;
  const ResultGradients& results_;
  NeededGradients needs_;
  std::vector<LayerGradients> gradients_;
  std::vector<WeightGradients> weights_;
  std::vector<Operands> operands_;
  StreamSet streams_;  // begins after all that is prepared on the current stream
  std::vector<Steps> groups_;
};

}  // namespace

PassGradients run_backward_pass(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                NeededGradients needs) {
  return BackwardPass(spec, layers, masks, results, needs).run();
}

}  // namespace rnnlab
