#include "recurrent/fused/fused_layer.h"

#include <ATen/autocast_mode.h>
#include <torch/nn/utils/rnn.h>

#include <type_traits>

#include "recurrent/fused/converted_stack.h"
#include "recurrent/layer_groups.h"

namespace rnnlab {
namespace {

namespace rnn = torch::nn::utils::rnn;

template <class Options>
Options torch_options(const RecurrentOptions& options) {
  return Options(options.input_size, options.hidden_size)
      .num_layers(options.num_layers)
      .bidirectional(options.bidirectional);
}

// LSTM has a pair of states where the others have one.
auto to_torch(const torch::nn::LSTM&, const RecurrentState& state) { return std::tuple(state.hidden, state.cell); }
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

}  // namespace

FusedLayer::Stack FusedLayer::make_stack(const RecurrentOptions& options) {
  if (options.cell == Cell::kLstm) return torch::nn::LSTM(torch_options<torch::nn::LSTMOptions>(options));
  if (options.cell == Cell::kGru) return torch::nn::GRU(torch_options<torch::nn::GRUOptions>(options));
  const bool is_relu = options.cell == Cell::kRnnRelu;
  auto plain = torch_options<torch::nn::RNNOptions>(options);
  return torch::nn::RNN(is_relu ? plain.nonlinearity(torch::kReLU) : plain.nonlinearity(torch::kTanh));
}

FusedLayer::FusedLayer(const RecurrentOptions& options) : RecurrentLayer(options), groups_(layer_groups(options)) {
  std::vector<at::Tensor> parameters;
  for (const RecurrentOptions& group : groups_) {
    stacks_.push_back(make_stack(group));
    const auto named = std::visit([](auto& stack) { return stack->named_parameters(); }, stacks_.back());
    for (const ParameterSpec& spec : parameter_specs(group)) parameters.push_back(named[spec.name]);
  }
  auto next = parameters.begin();
  register_parameters([&](const ParameterSpec&) { return *next++; });
}

RecurrentResult FusedLayer::run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) {
  const bool converts = input.is_cuda() && at::autocast::is_autocast_enabled(at::kCUDA);
  const double dropout = is_training() ? options().dropout : 0;
  return run_groups(
      groups_, dropout, input, initial, [&](size_t group, const at::Tensor& sequence, const RecurrentState& state) {
        return converts ? run_autocast(group, sequence, state, lengths) : run_stack(group, sequence, state, lengths);
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

RecurrentResult FusedLayer::run_autocast(size_t group, const at::Tensor& input, const RecurrentState& initial,
                                         const at::Tensor& lengths) {
  const at::ScalarType type = at::autocast::get_autocast_dtype(at::kCUDA);
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(at::DispatchKey::AutocastCUDA);
  const Mode mode = is_training() ? Mode::kTraining : Mode::kEvaluation;
  const auto count = static_cast<std::ptrdiff_t>(weights().size() / groups_.size());
  const auto first = weights().begin() + static_cast<std::ptrdiff_t>(group) * count;
  return run_converted(groups_[group], {first, first + count}, mode, type, input, initial, lengths);
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

}  // namespace rnnlab
