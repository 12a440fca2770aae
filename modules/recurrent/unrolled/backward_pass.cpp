#include "recurrent/unrolled/backward_pass.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>

#include "recurrent/unrolled/forward_pass.h"

namespace rnnlab {
namespace {

class BackwardPass {
 public:
  BackwardPass(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks,
               const ResultGradients& results, Needs needs)
      : spec_(spec),
        layers_(layers),
        masks_(masks),
        results_(results),
        needs_(needs),
        gradients_(make_gradients()),
        weights_(empty_weight_gradients(spec, layers, needs)),
        operands_(make_operands()),
        lanes_(layers[0].gates.device(), /*num_side_lanes=*/0, num_lanes(spec, layers.size()) - 1),
        groups_(groups_of_steps(spec, layers[0].num_steps(), layers.size())) {}

  PassGradients run() {
    run_loop();
    for (size_t layer = 0; layer < weights_.size(); ++layer)
      lanes_.run(product_lane(spec_, layer),
                 [&] { multiply_weight_gradients(spec_, layers_[layer], gradients_[layer], weights_[layer]); });
    lanes_.join();
    PassGradients result = {gradients_[0].input, {}, weights_};
    for (const LayerGradients& gradients : gradients_) result.initial.push_back(initial_gradients(gradients));
    return result;
  }

 private:
  struct Operands {
    at::Tensor weight_ih, weight_hh;  // (G * H, I), (G * H, H)
  };

  void run_loop() {
    along_diagonals(layers_.size(), groups_.size(), [&](size_t from_top, size_t from_last) {
      run_group(layers_.size() - 1 - from_top, groups_[groups_.size() - 1 - from_last]);
    });
  }

  void run_group(size_t layer, const Steps& steps) {
    const size_t product = product_lane(spec_, layer);
    const size_t recurrence = recurrence_lane(spec_, layer);
    if (layer + 1 < layers_.size()) lanes_.order(product_lane(spec_, layer + 1), recurrence);
    lanes_.run(recurrence, [&] {
      for (int64_t i = steps.last; i-- > steps.first;) run_step(layer, i);
    });
    lanes_.order(recurrence, product);
    if (layer > 0 || needs_.input) lanes_.run(product, [&] { multiply_inputs(layer, steps); });
  }

  void run_step(size_t layer, int64_t i) {
    const LayerTrace& trace = layers_[layer];
    LayerGradients& gradients = gradients_[layer];
    const int64_t t = place_of(spec_.direction, i, trace.num_steps());
    const bool is_last = i + 1 == trace.num_steps();
    run_backward_step(spec_, trace, gradients, is_last ? NextStep::kNone : NextStep::kThere, t);
    at::mm_out(gradients.from_next_step, gradients.recurrent_side[t], operands_[layer].weight_hh);
  }

  // The gradient of the layer's input is the gradient of the outputs of the layer below.
  void multiply_inputs(size_t layer, const Steps& steps) {
    const LayerTrace& trace = layers_[layer];
    LayerGradients& gradients = gradients_[layer];
    const int64_t first = first_place_of(spec_.direction, steps, trace.num_steps());
    at::Tensor product = matrix_of(gradients.input, first, steps.size());
    at::mm_out(product, matrix_of(gradients.input_side, first, steps.size()), operands_[layer].weight_ih);
    if (layer == 0) return;
    const at::Tensor part = gradients.input.narrow(0, first, steps.size());
    if (!masks_.empty()) part.mul_(masks_[layer - 1].narrow(0, first, steps.size()));
    const at::Tensor& from_result = results_.hidden[layer - 1];
    if (from_result.defined()) part.add_(from_result.narrow(0, first, steps.size()));
  }

  std::vector<LayerGradients> make_gradients() const {
    std::vector<LayerGradients> all = empty_gradients(spec_, layers_, results_, needs_);
    for (size_t layer = 0; layer < all.size(); ++layer) all[layer].carry = make_carry(layers_[layer]);
    return all;
  }

  at::Tensor make_carry(const LayerTrace& trace) const {
    if (has_cell_state(spec_.cell)) return at::zeros_like(trace.cell[0]);
    if (!has_two_sides(spec_.cell)) return {};
    return at::zeros_like(trace.hidden[0], trace.hidden.options().dtype(accumulation_type(trace.hidden.scalar_type())));
  }

  // Without a copy, the inner index of the product is the weights' slow index here, but the fast index in the forward
  // pass, and cuBLAS is slower with a slow inner index.
  std::vector<Operands> make_operands() const {
    const bool transpose = spec_.variant.pretransposes;
    const auto laid_out = [&](const at::Tensor& weight) { return transpose ? weight.t().contiguous().t() : weight; };
    std::vector<Operands> all;
    for (const LayerTrace& trace : layers_) {
      const bool multiplies_inputs = !all.empty() || needs_.input;
      all.push_back(
          {multiplies_inputs ? laid_out(trace.weights.weight_ih) : at::Tensor(), laid_out(trace.weights.weight_hh)});
    }
    return all;
  }

  InitialGradients initial_gradients(const LayerGradients& gradients) const {
    if (has_cell_state(spec_.cell)) return {gradients.from_next_step, gradients.carry};
    if (!has_two_sides(spec_.cell)) return {gradients.from_next_step, {}};
    return {gradients.from_next_step + gradients.carry.to(gradients.from_next_step.scalar_type()), {}};
  }

  const UnrolledSpec& spec_;
  const std::vector<LayerTrace>& layers_;
  const std::vector<at::Tensor>& masks_;
  const ResultGradients& results_;
  Needs needs_;
  std::vector<LayerGradients> gradients_;
  std::vector<WeightGradients> weights_;
  std::vector<Operands> operands_;
  StreamSet lanes_;  // begins after all that is prepared on the current stream
  std::vector<Steps> groups_;
};

}  // namespace

PassGradients run_backward_pass(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                const std::vector<at::Tensor>& masks, const ResultGradients& results, Needs needs) {
  return BackwardPass(spec, layers, masks, results, needs).run();
}

namespace {

void make_room_for_sides(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients) {
  const bool has_two = has_two_sides(spec.cell);
  if (has_two && spec.variant.is_persistent) {
    const int64_t hidden_size = trace.hidden_size(), gates = trace.gates.size(2);
    gradients.sides = at::empty({trace.num_steps(), trace.batch_size(), gates + hidden_size}, trace.gates.options());
    gradients.input_side = gradients.sides.narrow(2, hidden_size, gates);
    gradients.recurrent_side = gradients.sides.narrow(2, 0, gates);
    return;
  }
  gradients.input_side = at::empty_like(trace.gates);
  gradients.recurrent_side = has_two ? at::empty_like(trace.gates) : gradients.input_side;
  if (spec.variant.is_persistent) gradients.sides = gradients.input_side;
}

}  // namespace

std::vector<LayerGradients> empty_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                            const ResultGradients& results, Needs needs) {
  std::vector<LayerGradients> all(layers.size());
  for (size_t layer = layers.size(); layer-- > 0;) {
    const LayerTrace& trace = layers[layer];
    LayerGradients& gradients = all[layer];
    const bool is_top = layer + 1 == layers.size();
    gradients.output = is_top ? results.hidden[layer] : all[layer + 1].input;
    if (!results.cell.empty()) gradients.cell_output = results.cell[layer];
    make_room_for_sides(spec, trace, gradients);
    gradients.from_next_step = at::empty_like(trace.hidden[0]);
    if (layer > 0 || needs.input) gradients.input = at::empty_like(trace.input);
  }
  return all;
}

std::vector<WeightGradients> empty_weight_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                                    Needs needs) {
  std::vector<WeightGradients> all;
  if (!needs.weights) return all;
  for (const LayerTrace& trace : layers) all.push_back(empty_weight_gradients(spec, trace));
  return all;
}

}  // namespace rnnlab
