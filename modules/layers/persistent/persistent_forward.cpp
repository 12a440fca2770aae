// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/native_dropout_backward.h>
#include <ATen/ops/ones.h>
#include <c10/cuda/CUDAGuard.h>

#include <tuple>

#include "layers/persistent/layer_parts.h"
#include "layers/persistent/persistent_launch.h"
#include "layers/persistent/persistent_pass.h"
#include "layers/persistent/products.h"
#include "layers/unrolled/stream_set.h"

namespace rnnlab {
namespace {

// Recurrent weights are laid out on a side stream, those of the backward pass while the kernels run. The other side
// stream prepares the weights for the bottom layer's product, and draws the masks of pairs. If layers work at the same
// time, each layer above the bottom one has a main stream.
constexpr size_t kForwardStream = 0;
constexpr size_t kPackStream = 1;
constexpr size_t kOperandLane = 2;

class PersistentForwardPass {
 public:
  PersistentForwardPass(const PersistentSpec& spec, std::vector<PersistentTrace>& layers,
                        std::vector<at::Tensor>& masks)
      : spec_(spec),
        layers_(layers),
        masks_(masks),
        has_pairs_(mark_pairs()),
        parts_(choose_parts()),
        bottom_multiplies_(multiplies_input(spec, layers[0])),
        packed_(make_room()),
        streams_(device(), /*num_side_streams=*/kOperandLane, parts_.size() > 1 ? layers.size() - 1 : 0) {}

  void run() {
    bottom_multiplies_ ? prepare_bottom_kernel() : multiply_bottom_input();
    streams_.order(kPackStream, kForwardStream);
    streams_.run(kPackStream, [&] { lay_out_forward_weights(); });
    if (has_pairs_) streams_.order(kPackStream, kForwardStream);
    // The next kernels would slow down the product of the bottom layer, but not the kernels after it.
    if (!bottom_multiplies_) streams_.order(kForwardStream, kPackStream);
    streams_.run(kPackStream, [&] { lay_out_backward_weights(); });
    if (has_pairs_)
      run_pairs();
    else
      along_diagonals(layers_.size(), parts_.size(), [&](size_t layer, size_t part) { run_part(layer, part); });
    streams_.join();
  }

 private:
  bool mark_pairs() {
    if (!runs_pairs(spec_, layers_)) return false;
    for (size_t layer = 0; layer < layers_.size() / 2 * 2; ++layer) layers_[layer].is_in_pair = true;
    return true;
  }

  std::vector<Steps> choose_parts() const {
    const int64_t num_steps = layers_[0].num_steps();
    if (has_pairs_) return {{0, num_steps}};
    return parts_of_steps(num_steps, layers_.size(), forward_part_of_gpu(spec_, layers_[0]));
  }
  // Returns the trace by which the layer's kernel is chosen.
  const PersistentTrace& trace_of_kernel(size_t layer) const {
    return layers_[is_upper_of_pair(layer) ? layer - 1 : layer];
  }
  bool is_lower_of_pair(size_t layer) const { return layers_[layer].is_in_pair && layer % 2 == 0; }
  bool is_upper_of_pair(size_t layer) const { return layers_[layer].is_in_pair && layer % 2 == 1; }

  at::Device device() const { return layers_[0].gates.device(); }
  bool drops() const { return spec_.dropout > 0; }
  size_t stream_of(size_t layer) const {
    return parts_.size() == 1 || layer == 0 ? kForwardStream : kOperandLane + layer;
  }

  // Other parameters are converted while recurrent weights are laid out, unless these are converted too.
  void prepare_bottom_kernel() {
    const PersistentTrace& bottom = layers_[0];
    streams_.run(kPackStream, [&] {
      bottom_rest_.run();
      if (!lacks_all_states(bottom)) set_missing_states(bottom);
    });
    if (bottom.weights.weight_hh.scalar_type() != at::kFloat) streams_.order(kPackStream, kForwardStream);
    pack_for_forward(spec_, bottom, bottom.weights.weight_hh, packed_[0]);
  }

  // Runs at the same time as the preparation of the weights for the product and the kernel.
  void multiply_bottom_input() {
    PersistentTrace& bottom = layers_[0];
    streams_.run(kPackStream, [&] {
      bottom_rest_.run();
      pack_for_forward(spec_, bottom, bottom.weights.weight_hh, packed_[0]);
      set_missing_states(bottom);
    });
    if (bottom.weight_ih_operand.defined()) {
      streams_.run(kOperandLane, [&] { fill_weight_operand(bottom_parameter_, bottom.weight_ih_operand); });
      const Operand operand = input_operand(matrix_of(bottom.input));
      bottom.input_operand = operand.values.view({bottom.num_steps(), bottom.batch_size(), -1});
      bottom.input_unscale = operand.unscale;
      streams_.order(kOperandLane, kForwardStream);
      if (spec_.may_go_back) streams_.run(kOperandLane, [&] { bottom_weight_ih_.run(); });
    } else {
      bottom_weight_ih_.run();
    }
    multiply_inputs(bottom);
  }

  void run_part(size_t layer, size_t index) {
    if (layer > 0) {
      streams_.order(stream_of(layer - 1), stream_of(layer));
      if (index == 0) streams_.order(kPackStream, stream_of(layer));
    }
    streams_.run(stream_of(layer), [&] {
      if (layer > 0) read_from_below(layer, parts_[index]);
      PersistentTrace part = part_of(layers_[layer], spec_.direction, parts_[index]);
      if (layer > 0) multiply_inputs(part);
      if (index > 0) part.lacks_hidden = part.lacks_cell = false;
      launch_forward(spec_, part, packed_[layer]);
    });
  }

  void run_pairs() {
    if (drops()) {
      streams_.run(kOperandLane, [&] { draw_masks_of_pairs(); });
      streams_.order(kOperandLane, kForwardStream);
    }
    for (size_t layer = 0; layer < layers_.size(); layer += 2) {
      if (layer > 0) read_from_below(layer, parts_[0]);
      if (layer > 0) multiply_inputs(layers_[layer]);
      if (is_lower_of_pair(layer))
        run_pair(layers_[layer], layer);
      else
        launch_forward(spec_, layers_[layer], packed_[layer]);
    }
  }

  void run_pair(PersistentTrace& lower, size_t layer) {
    PersistentTrace& upper = layers_[layer + 1];
    launch_forward(spec_, lower, packed_[layer], upper, packed_[layer + 1],
                   {packed_inputs_[layer + 1], drops() ? masks_[layer] : at::Tensor()});
    if (drops() && upper.input_operand.defined()) upper.input_operand.copy_(upper.input);
  }

  // Recurrent weights can be laid out from float32 directly.
  void make_room_for_parameters(size_t layer) {
    const auto [weight_ih, weight_hh, bias_ih, bias_hh, vectors] = layers_[layer].weights;
    ParameterConversion& first = layer == 0 ? bottom_weight_ih_ : other_parameters_;
    ParameterConversion& rest = layer == 0 ? bottom_rest_ : other_parameters_;
    const at::ScalarType type = layers_[layer].gates.scalar_type();
    if (layer == 0) bottom_parameter_ = weight_ih;
    const auto float_or_converted = [&](const at::Tensor& weight) {
      return weight.scalar_type() == at::kFloat ? weight : rest.make_room_for(weight, type);
    };
    if (layer == 0 && bottom_multiplies_) layers_[0].weight_ih_of_kernel = float_or_converted(weight_ih);
    // No product of whole sequences reads weight_ih of the upper layer of a pair.
    const at::Tensor of_input =
        is_upper_of_pair(layer) ? float_or_converted(weight_ih) : first.make_room_for(weight_ih, type);
    layers_[layer].weights = {of_input, float_or_converted(weight_hh), rest.make_room_for(bias_ih, type),
                              rest.make_room_for(bias_hh, type), rest.make_room_for(vectors, type)};
  }

  // Allocates on the current stream all tensors that the streams fill.
  std::vector<at::Tensor> make_room() {
    std::vector<at::Tensor> packed;
    masks_.resize(drops() ? layers_.size() - 1 : 0);
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      PersistentTrace& trace = layers_[layer];
      make_room_for_parameters(layer);
      packed.push_back(empty_forward_weights(spec_, trace_of_kernel(layer)));
      if (spec_.may_go_back) trace.packed = empty_backward_weights(spec_, trace);
      packed_inputs_.push_back(is_upper_of_pair(layer) ? empty_forward_weights(spec_, trace_of_kernel(layer))
                                                       : at::Tensor());
      if (is_upper_of_pair(layer) && spec_.may_go_back) trace.packed_input = empty_backward_weights(spec_, trace);
      make_room_for_half(layer);
      if (drops() && is_upper_of_pair(layer)) make_room_for_dropout_of_pair(layer);
      if (drops() && layer > 0 && parts_.size() > 1) make_room_for_dropout(layer);
    }
    return packed;
  }

  std::vector<int64_t> shape_of_states(size_t layer) const {
    const PersistentTrace& trace = layers_[layer];
    return {trace.num_steps(), trace.batch_size(), trace.hidden_size()};
  }

  void make_room_for_dropout_of_pair(size_t layer) {
    const auto options = layers_[layer].gates.options();
    layers_[layer].input = at::empty(shape_of_states(layer), options);
    masks_[layer - 1] = at::empty(shape_of_states(layer), options.dtype(at::kBool));
  }

  void draw_masks_of_pairs() const {
    for (size_t layer = 0; layer < masks_.size(); ++layer)
      if (is_lower_of_pair(layer)) masks_[layer].bernoulli_(1 - spec_.dropout);
  }

  // Masks are drawn layer by layer, as in a pass with one part.
  void make_room_for_dropout(size_t layer) {
    const at::Tensor& gates = layers_[layer].gates;
    const std::vector<int64_t> shape = shape_of_states(layer);
    layers_[layer].input = at::empty(shape, gates.options());
    masks_[layer - 1] =
        std::get<1>(at::native_dropout(at::ones(shape, gates.options()), spec_.dropout, /*train=*/true));
  }

  void make_room_for_half(size_t layer) {
    PersistentTrace& trace = layers_[layer];
    const auto half = [](const at::Tensor& tensor) {
      return at::empty(tensor.sizes(), tensor.options().dtype(at::kHalf).requires_grad(false));
    };
    const at::Tensor gates = matrix_of(trace.gates);
    const bool is_read_above = layer + 1 < layers_.size() && !drops();
    const bool reads_half = layer > 0 && (drops() || layers_[layer - 1].half_hidden.defined());
    const at::Tensor& weight_ih = trace.weights.weight_ih;
    const bool is_multiplied = layer == 0 && !trace.tokens.defined() && !bottom_multiplies_;
    const bool gains_at_bottom = is_multiplied && gains_by_input_operand(matrix_of(trace.input), weight_ih);
    const bool gains = gains_at_bottom || (reads_half && gains_by_half(gates, weight_ih));
    if (gains && !is_upper_of_pair(layer)) trace.weight_ih_operand = empty_weight_operand(weight_ih);
    if (layer > 0 && drops() && gains)
      trace.input_operand = half(states_after(spec_.direction, trace.hidden));
    else if (is_upper_of_pair(layer) && gains)
      trace.input_operand = states_after(spec_.direction, layers_[layer - 1].half_hidden);
    if ((is_read_above || spec_.may_go_back) && gains_by_half(gates, trace.weights.weight_hh))
      trace.half_hidden = half(trace.hidden);
    if (spec_.may_go_back && trace.starts.defined())
      trace.read_hidden = at::empty_like(trace.half_hidden.defined() ? trace.half_hidden : trace.hidden);
  }

  // The kernel of a pair sets the states of its upper layer to 0 if all of them are missing.
  void lay_out_forward_weights() const {
    other_parameters_.run();
    for (size_t layer = 1; layer < layers_.size(); ++layer) {
      const PersistentTrace& trace = layers_[layer];
      if (!is_upper_of_pair(layer) || !lacks_all_states(trace)) set_missing_states(trace);
      pack_for_forward(spec_, trace_of_kernel(layer), trace.weights.weight_hh, packed_[layer]);
      if (is_upper_of_pair(layer))
        pack_for_forward(spec_, trace_of_kernel(layer), trace.weights.weight_ih, packed_inputs_[layer]);
    }
    for (size_t layer = 1; layer < layers_.size(); ++layer)
      if (layers_[layer].weight_ih_operand.defined())
        fill_weight_operand(layers_[layer].weights.weight_ih, layers_[layer].weight_ih_operand);
  }

  void lay_out_backward_weights() const {
    if (bottom_multiplies_ && spec_.may_go_back) bottom_weight_ih_.run();
    for (const PersistentTrace& trace : layers_)
      if (trace.half_hidden.defined()) fill_initial_half(trace);
    for (const PersistentTrace& trace : layers_) {
      if (trace.packed.defined()) pack_for_backward(spec_, trace, trace.weights.weight_hh, trace.packed);
      if (trace.packed_input.defined()) pack_for_backward(spec_, trace, trace.weights.weight_ih, trace.packed_input);
    }
  }

  // Missing states may not be set yet.
  void fill_initial_half(const PersistentTrace& trace) const {
    if (trace.lacks_hidden)
      initial_of(trace.half_hidden).zero_();
    else
      initial_of(trace.half_hidden).copy_(initial_of(trace.hidden));
  }

  void set_missing_states(const PersistentTrace& trace) const {
    if (trace.lacks_hidden) initial_of(trace.hidden).zero_();
    if (trace.lacks_cell) initial_of(trace.cell).zero_();
  }

  at::Tensor initial_of(const at::Tensor& states) const {
    return states[initial_row(spec_.direction, states.size(0) - 1)];
  }

  // Prepares the layer's input: the states of the layer below, after dropout if there is any.
  void read_from_below(size_t layer, const Steps& steps) {
    const PersistentTrace below = part_of(layers_[layer - 1], spec_.direction, steps);
    if (drops()) drop(layer, steps, states_after(spec_.direction, below.hidden));
    if (layers_[layer].weight_ih_operand.defined()) make_input_operand(layer, steps);
  }

  void make_input_operand(size_t layer, const Steps& steps) {
    PersistentTrace& trace = layers_[layer];
    if (drops())
      rows_of(trace.input_operand, spec_.direction, steps).copy_(rows_of(trace.input, spec_.direction, steps));
    else
      trace.input_operand = states_after(spec_.direction, layers_[layer - 1].half_hidden);
  }

  void drop(size_t layer, const Steps& steps, const at::Tensor& states) {
    if (parts_.size() == 1) {
      std::tie(layers_[layer].input, masks_[layer - 1]) = at::native_dropout(states, spec_.dropout, /*train=*/true);
      return;
    }
    const at::Tensor mask = rows_of(masks_[layer - 1], spec_.direction, steps);
    rows_of(layers_[layer].input, spec_.direction, steps)
        .copy_(at::native_dropout_backward(states, mask, 1 / (1 - spec_.dropout)));
  }

  static void multiply_inputs(PersistentTrace& trace) {
    if (trace.tokens.defined()) return multiply_rows(trace);
    at::Tensor products = matrix_of(trace.gates);
    if (trace.input_operand.defined())
      multiply_scaled(products, {matrix_of(trace.input_operand), trace.input_unscale},
                      {trace.weight_ih_operand.t(), {}});
    else
      at::mm_out(products, matrix_of(trace.input), trace.weights.weight_ih.t());
  }

  const PersistentSpec& spec_;
  std::vector<PersistentTrace>& layers_;
  std::vector<at::Tensor>& masks_;
  bool has_pairs_;
  std::vector<Steps> parts_;
  bool bottom_multiplies_;       // whether the kernel of the bottom layer multiplies the input
  at::Tensor bottom_parameter_;  // the bottom layer's weight_ih, in its original type
  ParameterConversion bottom_weight_ih_, bottom_rest_, other_parameters_;
  std::vector<at::Tensor> packed_inputs_;  // weight_ih of the upper layers of pairs
  std::vector<at::Tensor> packed_;
  StreamSet streams_;  // begins after all that is prepared on the current stream
};

}  // namespace

void run_persistent_forward(const PersistentSpec& spec, std::vector<PersistentTrace>& layers,
                            std::vector<at::Tensor>& masks) {
  const c10::cuda::CUDAGuard device(layers[0].gates.device());
  PersistentForwardPass(spec, layers, masks).run();
}

}  // namespace rnnlab
