// SPDX-License-Identifier: Apache-2.0
// Implements `fused` by torch::nn::LSTM, GRU or RNN over the whole stack, by cuDNN on CUDA, and by oneDNN or LibTorch's
// own loop on the CPU (execution_path.h reports which). Lengths are passed as packed sequences. Activations other than
// tanh in LSTM and GRU, and the reset gate before the product, are not supported. With dropout between layers the stack
// runs layer by layer (stacked_layer.h).
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/rnn_relu.h>
#include <ATen/ops/rnn_tanh.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/utils/rnn.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "base/error.h"
#include "layers/recurrent_layer.h"
#include "layers/stacked_layer.h"

namespace rnnlab {
namespace {

namespace rnn = torch::nn::utils::rnn;

constexpr bool kHasBiases = true;
constexpr double kNoDropout = 0;  // dropout is applied between groups of layers

RecurrentState converted(const RecurrentState& state, at::ScalarType type) {
  RecurrentState all = {state.hidden.to(type)};
  for (const at::Tensor& inner : state.inner) all.inner.push_back(inner.to(type));
  return all;
}

RecurrentState reordered(const RecurrentState& state, const at::Tensor& order) {
  if (!order.defined()) return state;
  RecurrentState all = {state.hidden.index_select(1, order)};
  for (const at::Tensor& inner : state.inner) all.inner.push_back(inner.index_select(1, order));
  return all;
}

// Returns the function of a cell with one state.
template <class Function>
Function choose(LibraryCell cell, Function gru, Function rnn_tanh, Function rnn_relu) {
  switch (cell) {
    case LibraryCell::kGru:
      return gru;
    case LibraryCell::kRnnTanh:
      return rnn_tanh;
    case LibraryCell::kRnnRelu:
      return rnn_relu;
    case LibraryCell::kLstm:
      break;
  }
  fail_invariant("a cell with one state", __FILE__, __LINE__, "an LSTM has two states");
}

enum class Mode { kEvaluation, kTraining };

// Calls one of the four functions, for whole or packed sequences. They have the weights and options in common.
class Call {
 public:
  Call(const RecurrentOptions& options, const std::vector<at::Tensor>& weights, Mode mode)
      : options_(options), weights_(weights), is_training_(mode == Mode::kTraining) {}

  // The arguments are those of RecurrentLayer::run, which has no starts here.
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) const {
    return lengths.defined() ? run_packed(input, initial, lengths) : whole(input, initial);
  }

 private:
  using WholeFunction = std::tuple<at::Tensor, at::Tensor> (*)(const at::Tensor&, const at::Tensor&, at::TensorList,
                                                               bool, int64_t, double, bool, bool, bool);
  using PackedFunction = std::tuple<at::Tensor, at::Tensor> (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                                at::TensorList, bool, int64_t, double, bool, bool);

  RecurrentResult whole(const at::Tensor& input, const RecurrentState& state) const {
    constexpr bool kBatchFirst = false;
    const LibraryCell cell = library_cell(options_.cell);
    if (cell == LibraryCell::kLstm)
      return result(at::lstm(input, {state.hidden, state.cell()}, weights_, kHasBiases, options_.num_layers, kNoDropout,
                             is_training_, options_.bidirectional, kBatchFirst));
    const auto run = choose<WholeFunction>(cell, at::gru, at::rnn_tanh, at::rnn_relu);
    return result(run(input, state.hidden, weights_, kHasBiases, options_.num_layers, kNoDropout, is_training_,
                      options_.bidirectional, kBatchFirst));
  }

  RecurrentResult packed(const rnn::PackedSequence& sequence, const RecurrentState& state) const {
    const LibraryCell cell = library_cell(options_.cell);
    if (cell == LibraryCell::kLstm)
      return result(at::lstm(sequence.data(), sequence.batch_sizes(), {state.hidden, state.cell()}, weights_,
                             kHasBiases, options_.num_layers, kNoDropout, is_training_, options_.bidirectional));
    const auto run = choose<PackedFunction>(cell, at::gru, at::rnn_tanh, at::rnn_relu);
    return result(run(sequence.data(), sequence.batch_sizes(), state.hidden, weights_, kHasBiases, options_.num_layers,
                      kNoDropout, is_training_, options_.bidirectional));
  }

  RecurrentResult run_packed(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) const {
    const auto packed = rnn::pack_padded_sequence(input, lengths, /*batch_first=*/false, /*enforce_sorted=*/false);
    RecurrentResult outcome = this->packed(packed, reordered(initial, packed.sorted_indices()));
    const rnn::PackedSequence outputs(outcome.output, packed.batch_sizes(), packed.sorted_indices(),
                                      packed.unsorted_indices());
    const auto padded = rnn::pad_packed_sequence(outputs, /*batch_first=*/false, /*padding_value=*/0.0, input.size(0));
    return {std::get<0>(padded), reordered(outcome.state, packed.unsorted_indices())};
  }

  static RecurrentResult result(const std::tuple<at::Tensor, at::Tensor, at::Tensor>& lstm) {
    return {std::get<0>(lstm), {std::get<1>(lstm), std::get<2>(lstm)}};
  }
  static RecurrentResult result(const std::tuple<at::Tensor, at::Tensor>& other) {
    return {std::get<0>(other), {std::get<1>(other), {}}};
  }

  const RecurrentOptions& options_;  // without dropout
  const std::vector<at::Tensor>& weights_;
  bool is_training_;
};

// ---- the type that autocast requests ----

// run_converted below runs torch::nn's recurrent functions in the type that autocast requests, where LibTorch's own
// rule does not. On CUDA it converts cuDNN's operands to float16 for any requested type
// (aten/src/ATen/cudnn/AutocastRNN.cpp in 2.11), so that a run in bfloat16 would silently compute in a different
// precision. On a CPU without AVX-512 it fails, because oneDNN has no LSTM in bfloat16 there; LibTorch's loop computes
// it here. The weights are converted as autocast would, into one piece of memory in cuDNN's layout, and gradients flow
// back to the float32 weights.

// Returns `weights` in `type`, as views of one buffer: the matrices of all layers, then their biases. Differentiable.
std::vector<at::Tensor> converted_weights(const std::vector<at::Tensor>& weights, at::ScalarType type) {
  std::vector<size_t> order(weights.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_partition(order, [&](size_t i) { return weights[i].dim() == 2; });

  std::vector<at::Tensor> flat;
  std::vector<int64_t> sizes;
  for (const size_t i : order) {
    flat.push_back(weights[i].flatten());
    sizes.push_back(weights[i].numel());
  }
  const auto pieces = at::cat(flat).to(type).split_with_sizes(sizes);
  std::vector<at::Tensor> views(weights.size());
  for (size_t position = 0; position < order.size(); ++position)
    views[order[position]] = pieces[position].view(weights[order[position]].sizes());
  return views;
}

template <class Options>
Options torch_options(const RecurrentOptions& options) {
  return Options(options.input_size, options.hidden_size)
      .num_layers(options.num_layers)
      .bidirectional(options.bidirectional);
}

// LSTM has a pair of states; the other cells have one state.
auto to_torch(const torch::nn::LSTM&, const RecurrentState& state) { return std::tuple(state.hidden, state.cell()); }
template <class Other>
at::Tensor to_torch(const Other&, const RecurrentState& state) {
  return state.hidden;
}

RecurrentState from_torch(const std::tuple<at::Tensor, at::Tensor>& state) {
  return {std::get<0>(state), std::get<1>(state)};
}
RecurrentState from_torch(const at::Tensor& hidden) { return {hidden, {}}; }

template <class Holder>
RecurrentResult run_whole(Holder& stack, const at::Tensor& input, const RecurrentState& initial) {
  const auto [output, state] = stack->forward(input, to_torch(stack, initial));
  return {output, from_torch(state)};
}

template <class Holder>
RecurrentResult run_packed(Holder& stack, const at::Tensor& input, const RecurrentState& initial,
                           const at::Tensor& lengths) {
  const auto packed = rnn::pack_padded_sequence(input, lengths, /*batch_first=*/false, /*enforce_sorted=*/false);
  const auto [packed_output, state] = stack->forward_with_packed_input(packed, to_torch(stack, initial));
  const at::Tensor output =
      std::get<0>(rnn::pad_packed_sequence(packed_output, /*batch_first=*/false, /*padding_value=*/0.0, input.size(0)));
  return {output, from_torch(state)};
}

// ---- the layer ----

class FusedLayer : public RecurrentLayer {
 public:
  explicit FusedLayer(const RecurrentOptions& options);
  LayerKind kind() const override { return LayerKind::kFused; }

  void draw_weights() override;

  // Moving the module separates the weights, so these functions join them again.
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, bool non_blocking = false) override;
  void train(bool on = true) override;

 private:
  using Stack = std::variant<torch::nn::LSTM, torch::nn::GRU, torch::nn::RNN>;

  static Stack make_stack(const RecurrentOptions& options);
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                      StatesOf) override;
  RecurrentResult run_stack(size_t group, const at::Tensor& input, const RecurrentState& initial,
                            const at::Tensor& lengths);
  RecurrentResult run_converted(at::ScalarType type, size_t group, const at::Tensor& input,
                                const RecurrentState& initial, const at::Tensor& lengths);
  RecurrentResult run_given(size_t group, const at::Tensor& input, const RecurrentState& initial,
                            const at::Tensor& lengths);
  Call call_of(size_t group, const std::vector<at::Tensor>& weights) const;
  std::vector<at::Tensor> weights_of(size_t group) const;
  void flatten();

  std::vector<RecurrentOptions> groups_;
  // Holds the modules of the groups; none if the caller gives the weights. The modules are not submodules, because this
  // layer registers their parameters without a prefix, as the same tensors.
  std::vector<Stack> stacks_;
};

FusedLayer::Stack FusedLayer::make_stack(const RecurrentOptions& options) {
  const auto plain = [&] { return torch_options<torch::nn::RNNOptions>(options); };
  switch (library_cell(options.cell)) {
    case LibraryCell::kLstm:
      return torch::nn::LSTM(torch_options<torch::nn::LSTMOptions>(options));
    case LibraryCell::kGru:
      return torch::nn::GRU(torch_options<torch::nn::GRUOptions>(options));
    case LibraryCell::kRnnTanh:
      return torch::nn::RNN(plain().nonlinearity(torch::kTanh));
    case LibraryCell::kRnnRelu:
      return torch::nn::RNN(plain().nonlinearity(torch::kReLU));
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "make_stack does not know the cell");
}

FusedLayer::FusedLayer(const RecurrentOptions& options) : RecurrentLayer(options), groups_(layer_groups(options)) {}

void FusedLayer::draw_weights() {
  std::vector<at::Tensor> parameters;
  for (const RecurrentOptions& group : groups_) {
    stacks_.push_back(make_stack(group));
    const auto named = std::visit([](auto& stack) { return stack->named_parameters(); }, stacks_.back());
    for (const ParameterSpec& spec : parameter_specs(group)) parameters.push_back(named[spec.name]);
  }
  auto next = parameters.begin();
  register_parameters([&](const ParameterSpec&) { return *next++; });
}

bool onednn_has(at::ScalarType type) {
  const auto asked = [](const char* question) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(question, "").typed<bool()>().call();
  };
  static const bool has_bfloat16 = asked("mkldnn::_is_mkldnn_bf16_supported");
  static const bool has_half = asked("mkldnn::_is_mkldnn_fp16_supported");
  return type == at::kHalf ? has_half : has_bfloat16;
}

// Returns the type that this layer must convert to, if LibTorch's own rule of autocast is not used: on CUDA it takes
// float16 for any type, and on a CPU it gives oneDNN an LSTM in a type even if oneDNN fails because it has none.
std::optional<at::ScalarType> type_to_convert_to(c10::Device device, Cell cell, bool is_packed) {
  if (!at::autocast::is_autocast_enabled(device.type())) return std::nullopt;
  const at::ScalarType type = at::autocast::get_autocast_dtype(device.type());
  const bool uses_onednn = device.is_cpu() && library_cell(cell) == LibraryCell::kLstm && !is_packed;
  if (!device.is_cuda() && (!uses_onednn || onednn_has(type))) return std::nullopt;
  return type;
}

RecurrentResult FusedLayer::run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                                StatesOf) {
  const at::Tensor& lengths = segments.lengths;
  auto type = type_to_convert_to(input.device(), options().cell, lengths.defined());
  // cuDNN needs the weights in one piece, which the caller's need not be; a conversion makes one piece of them.
  if (!type && !has_own_weights() && input.is_cuda()) type = input.scalar_type();
  const double dropout = is_training() ? options().dropout : 0;
  return run_groups(groups_, dropout, input, initial,
                    [&](size_t group, const at::Tensor& sequence, const RecurrentState& state) {
                      if (type) return run_converted(*type, group, sequence, state, lengths);
                      return has_own_weights() ? run_stack(group, sequence, state, lengths)
                                               : run_given(group, sequence, state, lengths);
                    });
}

RecurrentResult FusedLayer::run_stack(size_t group, const at::Tensor& input, const RecurrentState& initial,
                                      const at::Tensor& lengths) {
  return std::visit(
      [&](auto& stack) {
        return lengths.defined() ? run_packed(stack, input, initial, lengths) : run_whole(stack, input, initial);
      },
      stacks_[group]);
}

std::vector<at::Tensor> FusedLayer::weights_of(size_t group) const {
  const auto count = static_cast<std::ptrdiff_t>(weights().size() / groups_.size());
  const auto first = weights().begin() + static_cast<std::ptrdiff_t>(group) * count;
  return {first, first + count};
}

Call FusedLayer::call_of(size_t group, const std::vector<at::Tensor>& weights) const {
  return {groups_[group], weights, is_training() ? Mode::kTraining : Mode::kEvaluation};
}

RecurrentResult FusedLayer::run_given(size_t group, const at::Tensor& input, const RecurrentState& initial,
                                      const at::Tensor& lengths) {
  const std::vector<at::Tensor> mine = weights_of(group);
  return call_of(group, mine).run(input, initial, lengths);
}

RecurrentResult FusedLayer::run_converted(at::ScalarType type, size_t group, const at::Tensor& input,
                                          const RecurrentState& initial, const at::Tensor& lengths) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const std::vector<at::Tensor> mine = converted_weights(weights_of(group), type);
  return call_of(group, mine).run(input.to(type), converted(initial, type), lengths);
}

void FusedLayer::flatten() {
  for (Stack& stack : stacks_) std::visit([](auto& one) { one->flatten_parameters(); }, stack);
}

void FusedLayer::to(torch::Device device, torch::Dtype dtype, bool non_blocking) {
  RecurrentLayer::to(device, dtype, non_blocking);
  flatten();
}

void FusedLayer::to(torch::Dtype dtype, bool non_blocking) {
  RecurrentLayer::to(dtype, non_blocking);
  flatten();
}

void FusedLayer::to(torch::Device device, bool non_blocking) {
  RecurrentLayer::to(device, non_blocking);
  flatten();
}

void FusedLayer::train(bool on) {
  RecurrentLayer::train(on);
  for (Stack& stack : stacks_) std::visit([on](auto& one) { one->train(on); }, stack);
}

}  // namespace

const LayerInfo& fused_layer_info() {
  using enum RecurrentOption;
  static const LayerInfo info = {
      .description = "torch::nn's LSTM, GRU and RNN: cuDNN on CUDA, oneDNN or LibTorch's own loop on the CPU",
      .cells = {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu},
      .options = {kNumLayers, kBidirectional, kDropout},
      .processors = {Processor::kCpu, Processor::kGpu},
      .speed_rank = 9,
      .make = make_layer_of<FusedLayer>};
  return info;
}

}  // namespace rnnlab
