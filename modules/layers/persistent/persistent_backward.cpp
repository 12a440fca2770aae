// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_dropout_backward.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>

#include <vector>

#include "layers/persistent/layer_parts.h"
#include "layers/persistent/persistent_launch.h"
#include "layers/persistent/persistent_pass.h"
#include "layers/persistent/products.h"
#include "layers/recurrent_layer.h"
#include "layers/unrolled/stream_set.h"

namespace rnnlab {
namespace {

// The main stream runs the kernels and the products for which kernels wait; side streams run products for which nothing
// in the pass waits. If layers work at the same time, each layer below the top one also has a main stream.
constexpr size_t kMainStream = 0;
constexpr size_t kSideStream = 1;
constexpr size_t kOtherSideStream = 2;

class PersistentBackwardPass {
 public:
  PersistentBackwardPass(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers,
                         const std::vector<at::Tensor>& masks, const ResultGradients& results, NeededGradients needs)
      : spec_(spec),
        layers_(layers),
        masks_(masks),
        results_(results),
        needs_(needs),
        parts_(choose_parts()),
        gradients_(make_gradients()),
        weights_(make_room_for_weights()),
        products_(make_products()),
        table_(make_table()),
        streams_(layers[0].gates.device(), /*num_side_streams=*/kOtherSideStream,
                 parts_.size() > 1 ? layers.size() - 1 : 0) {}

  PassGradients run() {
    if (parts_.size() == 1)
      for (size_t end = layers_.size(); end > 0; end -= is_upper_of_pair(end - 1) ? 2 : 1)
        is_upper_of_pair(end - 1) ? run_pair(end - 2) : run_layer(end - 1);
    else
      along_diagonals(layers_.size(), parts_.size(), [&](size_t from_top, size_t from_last) {
        run_part(layers_.size() - 1 - from_top, parts_.size() - 1 - from_last);
      });
    multiply_last_weights();
    streams_.join();
    PassGradients result = {reads_tokens() ? table_ : gradients_[0].input, {}, weights_};
    for (const PersistentGradients& gradients : gradients_)
      result.initial.push_back({gradients.from_next_step, gradients.carry});
    return result;
  }

 private:
  size_t stream_of(size_t layer) const {
    const size_t from_top = layers_.size() - 1 - layer;
    return parts_.size() == 1 || from_top == 0 ? kMainStream : kOtherSideStream + from_top;
  }

  std::vector<Steps> choose_parts() const {
    const int64_t num_steps = layers_[0].num_steps();
    if (is_lower_of_pair(0)) return {{0, num_steps}};
    return parts_of_steps(num_steps, layers_.size(), backward_part_of_gpu(spec_, layers_[0]));
  }

  bool is_upper_of_pair(size_t layer) const { return layers_[layer].packed_input.defined(); }
  bool is_lower_of_pair(size_t layer) const { return layer + 1 < layers_.size() && is_upper_of_pair(layer + 1); }

  // `layer` is the lower one of the pair.
  void run_pair(size_t layer) {
    streams_.order(kMainStream, kSideStream);
    const auto of_pair = [&](size_t i) { return LayerOfPair{layers_[i], gradients_[i], final_gradients(i)}; };
    launch_backward(spec_, of_pair(layer), of_pair(layer + 1), masks_.empty() ? at::Tensor() : masks_[layer]);
    work_beside_kernel_of(layer, layer + 1);
    products_[layer + 1].prepare_gates(needs_);
    multiply_data(layer);
  }

  void run_layer(size_t layer) {
    streams_.order(kMainStream, kSideStream);
    launch_backward(spec_, layers_[layer], gradients_[layer], final_gradients(layer));
    work_beside_kernel_of(layer, layer);
    multiply_data(layer);
  }

  void multiply_data(size_t layer) {
    products_[layer].prepare_gates(needs_);
    if (!gradients_[layer].input.defined()) return;
    products_[layer].multiply_data();
    if (layer > 0) hand_down(layer);
  }

  // The layer's weights are multiplied after its last part.
  void run_part(size_t layer, size_t index) {
    if (layer + 1 < layers_.size()) streams_.order(stream_of(layer + 1), stream_of(layer));
    const bool is_last = index + 1 == parts_.size();
    streams_.run(stream_of(layer), [&] {
      const PersistentTrace trace = part_of(layers_[layer], spec_.direction, parts_[index]);
      PersistentGradients gradients = part_of(gradients_[layer], spec_.direction, parts_[index], index);
      launch_backward(spec_, trace, gradients,
                      is_last ? final_gradients(layer) : FinalGradients{gradients.from_next_step, gradients.carry});
      if (gradients.input.defined()) multiply_data_of_part(layer, parts_[index], trace, gradients);
    });
    if (index > 0 || layer == 0) return;
    streams_.order(stream_of(layer), kSideStream);
    if (!needs_.weights) return;
    streams_.run(kSideStream, [&] { products_[layer].prepare_gates(needs_); });
    multiply_weights(layer);
  }

  // The last gradients of results are those of the final states of all layers (persistent_stack.cpp).
  FinalGradients final_gradients(size_t layer) const {
    const auto of_layer = [&](const std::vector<at::Tensor>& results) {
      return results.empty() || !results.back().defined() ? at::Tensor() : results.back()[static_cast<int64_t>(layer)];
    };
    return {of_layer(results_.hidden), of_layer(results_.cell)};
  }

  // They are allocated on the current stream, where they are used and freed. The gradient of a layer's outputs is the
  // same tensor as the gradient of the inputs of the layer above, except between the layers of a pair.
  std::vector<PersistentGradients> make_gradients() const {
    std::vector<PersistentGradients> all(layers_.size());
    for (size_t layer = all.size(); layer-- > 0;) {
      PersistentGradients& gradients = all[layer];
      const bool is_read_above = layer + 1 < all.size() && !is_lower_of_pair(layer);
      gradients.output = is_read_above ? all[layer + 1].input : results_.hidden[layer];
      if (!results_.cell.empty()) gradients.cell_output = results_.cell[layer];
      gradients.from_next_step = at::empty_like(layers_[layer].hidden[0]);
      if (layers_[layer].cell.defined()) gradients.carry = at::empty_like(layers_[layer].cell[0]);
      const bool is_needed = layer > 0 ? !is_upper_of_pair(layer) : needs_.input && !reads_tokens();
      if (is_needed) gradients.input = at::empty_like(layers_[layer].input);
    }
    return all;
  }

  // Every bias has its own gradient, because autograd would copy a shared gradient after the pass.
  std::vector<WeightGradients> make_room_for_weights() const {
    if (!needs_.weights) return {};
    if (spec_.gradient_sink != nullptr) return places_of_sink();
    std::vector<WeightGradients> all;
    for (const PersistentTrace& trace : layers_) {
      WeightGradients& weights = all.emplace_back(empty_weight_gradients(spec_, trace));
      if (weights.bias_hh.defined() && weights.bias_hh.is_same(weights.bias_ih))
        weights.bias_hh = at::empty_like(weights.bias_ih);
    }
    return all;
  }

  std::vector<WeightGradients> places_of_sink() const {
    const auto place_of = [this](const at::Tensor& parameter) {
      if (!parameter.defined()) return at::Tensor();
      const at::Tensor place = spec_.gradient_sink->place_of(parameter);
      return place.defined() ? place : at::empty_like(parameter);
    };
    std::vector<WeightGradients> all;
    for (const DirectionWeights& weights : spec_.parameters)
      all.push_back({place_of(weights.weight_ih), place_of(weights.weight_hh), place_of(weights.bias_ih),
                     place_of(weights.bias_hh), place_of(weights.vectors)});
    return all;
  }

  std::vector<GateProducts> make_products() {
    std::vector<GateProducts> all;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      all.emplace_back(spec_, layers_[layer], gradients_[layer]);
      all.back().allocate_gates(all.back().reads_only_half(needs_) && writes_half_gradients(spec_, layers_[layer]));
      if (needs_.weights) gradients_[layer].bias_sums = empty_bias_sums(spec_, layers_[layer], parts_.size());
    }
    allocate_maxima(all);
    return all;
  }

  // Sets the maxima of all layers to 0 by one kernel.
  void allocate_maxima(const std::vector<GateProducts>& products) {
    at::Tensor maxima;  // (layers, parts)
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      PersistentGradients& gradients = gradients_[layer];
      const bool has_exponents = gradients.exponents.defined();
      if (!has_exponents && !products[layer].reads_largest(needs_)) continue;
      if (!maxima.defined()) maxima = zero_maxima();
      const at::Tensor of_parts = maxima[static_cast<int64_t>(layer)];
      (has_exponents ? gradients.largest_exponents : gradients.largest) =
          has_exponents ? of_parts : of_parts.narrow(0, 0, 1);
    }
  }

  at::Tensor zero_maxima() const {
    return at::zeros({static_cast<int64_t>(layers_.size()), static_cast<int64_t>(parts_.size())},
                     layers_[0].gates.options().dtype(at::kInt));
  }

  at::Tensor make_table() const {
    if (!reads_tokens() || !needs_.input) return {};
    return at::empty(layers_[0].table.sizes(), layers_[0].table.options().dtype(at::kFloat));
  }

  // The gradient of the layer's input becomes the gradient of the outputs of the layer below.
  void hand_down(size_t layer) {
    PersistentGradients& gradients = gradients_[layer];
    if (!masks_.empty()) {
      gradients.input = at::native_dropout_backward(gradients.input, masks_[layer - 1], 1 / (1 - spec_.dropout));
      gradients_[layer - 1].output = gradients.input;
    }
    const at::Tensor& from_result = results_.hidden[layer - 1];
    if (from_result.defined()) gradients.input.add_(from_result);
  }

  // Does the work of multiply_data and hand_down for a part of the steps. If the gates are float32, they do not have a
  // common scale for float16 yet.
  void multiply_data_of_part(size_t layer, const Steps& steps, const PersistentTrace& trace,
                             PersistentGradients& gradients) const {
    if (gradients.exponents.defined()) {
      GateProducts products(spec_, trace, gradients);
      products.prepare_gates({.input = true, .weights = false});
      products.multiply_data();
    } else {
      at::Tensor product = matrix_of(gradients.input);
      at::mm_out(product, matrix_of(gradients.input_side), layers_[layer].weights.weight_ih);
    }
    if (layer == 0) return;
    if (!masks_.empty()) {
      const at::Tensor mask = rows_of(masks_[layer - 1], spec_.direction, steps);
      gradients.input.copy_(at::native_dropout_backward(gradients.input, mask, 1 / (1 - spec_.dropout)));
    }
    const at::Tensor from_result = rows_of(results_.hidden[layer - 1], spec_.direction, steps);
    if (from_result.defined()) gradients.input.add_(from_result);
  }

  // Works on the SMs that the kernel of these layers leaves free: it multiplies the weights of the layer above, or of
  // the pair above, and finds the places of the tokens.
  void work_beside_kernel_of(size_t lowest, size_t highest) {
    const bool finds_places = lowest == 0 && reads_tokens();
    const bool multiplies = needs_.weights && highest + 1 < layers_.size();
    if (!finds_places && !multiplies) return;
    streams_.run(kSideStream, [&] {
      let_kernel_start();
      if (finds_places) places_ = places_of_tokens();
    });
    if (!multiplies) return;
    if (is_lower_of_pair(highest + 1)) multiply_weights(highest + 2);
    multiply_weights(highest + 1);
  }

  at::Tensor places_of_tokens() const {
    const auto options = layers_[0].gates.options().dtype(products_[0].type_of_input_side(needs_));
    return one_hot_of_tokens(layers_[0].tokens, layers_[0].table.size(0), options);
  }

  // Products that fill the GPU run one after the other, so that the first gradients are there early. The order is that
  // in which a sink sends gradients: from the last parameter to the first.
  //
  // The products start after the work that is queued on the side stream. Adding up biases takes few blocks, and nothing
  // waits for it.
  void multiply_weights(size_t layer) {
    streams_.order(kSideStream, kOtherSideStream);
    streams_.run(kOtherSideStream, [&] { sum_biases(layer); });
    streams_.run(products_[layer].fill_gpu() ? kSideStream : kOtherSideStream,
                 [&] { multiply_recurrent_weights(layer); });
    streams_.run(kSideStream, [&] { multiply_input_weights(layer); });
  }

  // These functions queue the work of a layer's gradients on the current stream, and then tell the sink.
  void sum_biases(size_t layer) {
    products_[layer].sum_biases(weights_[layer]);
    announce(layer, &DirectionWeights::bias_ih, &DirectionWeights::bias_hh, &DirectionWeights::vectors);
  }
  void multiply_recurrent_weights(size_t layer) {
    products_[layer].multiply_recurrent_weights(weights_[layer]);
    announce(layer, &DirectionWeights::weight_hh);
  }
  void multiply_input_weights(size_t layer) {
    products_[layer].multiply_input_weights(weights_[layer]);
    announce_input_weights(layer);
  }
  void announce_input_weights(size_t layer) const { announce(layer, &DirectionWeights::weight_ih); }

  // Those of the parameters that the cell has.
  template <class... Member>
  void announce(size_t layer, Member... members) const {
    if (spec_.gradient_sink == nullptr) return;
    std::vector<at::Tensor> written = {spec_.parameters[layer].*members...};
    std::erase_if(written, [](const at::Tensor& parameter) { return !parameter.defined(); });
    spec_.gradient_sink->on_written(written);
  }

  // The kernel has priority, but it and the products wait for the same work: blocks that start a moment before the
  // kernel would occupy SMs that its clusters need. A small kernel takes longer than this moment.
  void let_kernel_start() const { (void)at::zeros({1}, layers_[0].gates.options()); }

  bool reads_tokens() const { return layers_[0].tokens.defined(); }

  // Multiplies the weights of the bottom layer or pair, after which no kernel follows: products that do not fill the
  // GPU run at the same time.
  void multiply_last_weights() {
    if (parts_.size() > 1 && needs_.weights) streams_.run(stream_of(0), [&] { products_[0].prepare_gates(needs_); });
    streams_.order(stream_of(0), kSideStream);
    streams_.order(stream_of(0), kOtherSideStream);
    if (needs_.weights) {
      streams_.run(kOtherSideStream, [&] {  // of both layers of a pair, because adding up biases takes few blocks
        if (is_lower_of_pair(0)) sum_biases(1);
        sum_biases(0);
      });
      if (is_lower_of_pair(0)) multiply_weights_of_upper();
      streams_.run(products_[0].fill_gpu() ? kSideStream : stream_of(0), [&] { multiply_recurrent_weights(0); });
    }
    if (reads_tokens())
      streams_.run(kSideStream, [&] { multiply_by_tokens(); });
    else if (needs_.weights)
      streams_.run(kSideStream, [&] { multiply_input_weights(0); });
  }

  void multiply_weights_of_upper() {
    streams_.run(products_[1].fill_gpu() ? kSideStream : kOtherSideStream, [&] { multiply_recurrent_weights(1); });
    streams_.run(kSideStream, [&] { multiply_input_weights(1); });
  }

  void multiply_by_tokens() {
    if (!places_.defined()) places_ = places_of_tokens();
    const at::Tensor sums = sums_of_tokens(places_, gradients_[0], products_[0].input_side_operand());
    if (needs_.weights) {
      rnnlab::multiply_input_weights(layers_[0], sums, weights_[0]);
      announce_input_weights(0);
    }
    if (needs_.input) multiply_table(layers_[0], sums, table_);
  }

  const PersistentSpec& spec_;
  const std::vector<PersistentTrace>& layers_;
  const std::vector<at::Tensor>& masks_;
  const ResultGradients& results_;
  NeededGradients needs_;
  std::vector<Steps> parts_;
  std::vector<PersistentGradients> gradients_;
  std::vector<WeightGradients> weights_;
  std::vector<GateProducts> products_;
  at::Tensor table_;   // the gradient of the table, if the bottom layer reads a table by tokens
  at::Tensor places_;  // of the tokens, by one_hot_of_tokens, if so
  StreamSet streams_;  // begins after all that is prepared on the current stream
};

}  // namespace

PassGradients run_persistent_backward(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers,
                                      const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                      NeededGradients needs) {
  const c10::cuda::CUDAGuard device(layers[0].gates.device());
  return PersistentBackwardPass(spec, layers, masks, results, needs).run();
}

}  // namespace rnnlab
