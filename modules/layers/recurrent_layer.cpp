// SPDX-License-Identifier: Apache-2.0
#include "layers/recurrent_layer.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace rnnlab {
namespace {

std::string describe(at::IntArrayRef shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

std::string describe(const at::Tensor& tensor) {
  return fmt::format("{} {} on {}", describe(tensor.sizes()), c10::toString(tensor.scalar_type()),
                     tensor.device().str());
}

void check_options(const RecurrentOptions& options) {
  RNNLAB_INVARIANT(options.input_size >= 1, fmt::format("input_size is {}, wanted at least 1", options.input_size));
  RNNLAB_INVARIANT(options.hidden_size >= 1, fmt::format("hidden_size is {}, wanted at least 1", options.hidden_size));
  RNNLAB_INVARIANT(options.num_layers >= 1, fmt::format("num_layers is {}, wanted at least 1", options.num_layers));
  RNNLAB_INVARIANT(options.dropout >= 0 && options.dropout < 1,
                   fmt::format("dropout is {}, wanted at least 0 and below 1", options.dropout));
}

// Autocast converts any floating type; without autocast no type is converted.
void check_kind_of_tensor(const std::string& name, const at::Tensor& tensor, const at::Tensor& weight) {
  const bool converts = at::autocast::is_autocast_enabled(weight.device().type()) && tensor.is_floating_point();
  RNNLAB_INVARIANT(tensor.device() == weight.device() && (converts || tensor.scalar_type() == weight.scalar_type()),
                   fmt::format("{} is {}, but the layer's parameters are {} on {}", name, describe(tensor),
                               c10::toString(weight.scalar_type()), weight.device().str()));
}

void check_input(const at::Tensor& input, const RecurrentOptions& options) {
  const char* layout = options.batch_first ? "(B, T, I)" : "(T, B, I)";
  RNNLAB_INVARIANT(input.defined(), "the input is undefined");
  RNNLAB_INVARIANT(
      input.dim() == 3 && input.size(2) == options.input_size,
      fmt::format("the input is {}, wanted {} with I = {}", describe(input.sizes()), layout, options.input_size));
  RNNLAB_INVARIANT(input.size(0) >= 1 && input.size(1) >= 1,
                   fmt::format("the input is {}, wanted at least one step and one sequence", describe(input.sizes())));
}

void check_table(const at::Tensor& table, const at::Tensor& tokens, const RecurrentOptions& options) {
  RNNLAB_INVARIANT(
      table.dim() == 2 && table.size(1) == options.input_size,
      fmt::format("the table is {}, wanted (V, I) with I = {}", describe(table.sizes()), options.input_size));
  RNNLAB_INVARIANT(tokens.dim() == 2 && tokens.scalar_type() == at::kLong && tokens.numel() > 0,
                   fmt::format("the tokens are {}, wanted a Long matrix of at least one", describe(tokens)));
}

void check_lengths(const at::Tensor& lengths, int64_t num_steps, int64_t batch_size) {
  RNNLAB_INVARIANT(
      lengths.scalar_type() == at::kLong && lengths.is_cpu() && lengths.dim() == 1 && lengths.size(0) == batch_size,
      fmt::format("lengths are {}, wanted ({}) Long on cpu", describe(lengths), batch_size));
  const at::Tensor contiguous = lengths.contiguous();
  for (int64_t i = 0; i < batch_size; ++i) {
    const int64_t length = contiguous.const_data_ptr<int64_t>()[i];
    RNNLAB_INVARIANT(length >= 1 && length <= num_steps,
                     fmt::format("lengths[{}] is {}, wanted 1 to {}", i, length, num_steps));
  }
}

void check_state(const std::string& name, const at::Tensor& given, at::IntArrayRef shape, const at::Tensor& weight) {
  RNNLAB_INVARIANT(given.sizes() == shape,
                   fmt::format("{} is {}, wanted {}", name, describe(given.sizes()), describe(shape)));
  check_kind_of_tensor(name, given, weight);
}

std::string wrong_states(const RecurrentState& given, Cell cell) {
  const size_t num_inner = info_of(cell).states.size() - 1;
  if (num_inner == 0)
    return fmt::format("an initial cell state was given, but {} does not have a cell state", cell_name(cell));
  return fmt::format("{} initial states were given, but {} has {}", given.inner.size() + 1, cell_name(cell),
                     num_inner + 1);
}

std::vector<c10::IValue> range_inputs(const RecurrentOptions& options, int64_t num_steps) {
  return {num_steps * options.num_layers * options.num_directions()};
}

void check_same_parameters(const RecurrentLayer& from, const RecurrentLayer& to) {
  const auto source = from.named_parameters(/*recurse=*/false);
  const auto target = to.named_parameters(/*recurse=*/false);
  for (const auto& item : target) {
    const at::Tensor* found = source.find(item.key());
    RNNLAB_INVARIANT(found != nullptr, fmt::format("the layer to copy from has no parameter {}", item.key()));
    RNNLAB_INVARIANT(found->sizes() == item.value().sizes(),
                     fmt::format("{} is {} in the layer to copy from, but {} in the layer to copy to", item.key(),
                                 describe(found->sizes()), describe(item.value().sizes())));
  }
  for (const auto& item : source)
    RNNLAB_INVARIANT(target.contains(item.key()), fmt::format("the layer to copy to has no parameter {}", item.key()));
}

void check_feature(LayerKind kind, PassFeature feature) {
  RNNLAB_INVARIANT(has_feature(kind, feature),
                   fmt::format("layer: {} does not support {}", config::name_of(kind), text_of(feature)));
}

}  // namespace

RecurrentLayer::RecurrentLayer(const RecurrentOptions& options)
    : torch::nn::Module("RecurrentLayer"), options_(options) {
  check_options(options);
}

void RecurrentLayer::register_parameters(const std::function<at::Tensor(const ParameterSpec&)>& make) {
  for (const ParameterSpec& spec : parameter_specs(options_)) {
    weights_.push_back(register_parameter(spec.name, make(spec)));
    RNNLAB_INVARIANT(
        weights_.back().sizes() == at::IntArrayRef(spec.shape),
        fmt::format("{} is {}, wanted {}", spec.name, describe(weights_.back().sizes()), describe(spec.shape)));
  }
}

void RecurrentLayer::register_uniform_parameters() {
  const double bound = 1.0 / std::sqrt(static_cast<double>(options_.hidden_size));
  register_parameters(
      [&](const ParameterSpec& spec) { return at::empty(spec.shape, at::kFloat).uniform_(-bound, bound); });
}

void RecurrentLayer::use_weights(std::vector<at::Tensor> weights) {
  RNNLAB_INVARIANT(!has_own_weights(), "a layer with parameters computes with them");
  weights_ = std::move(weights);
}

Segments RecurrentLayer::checked(const at::Tensor& input, const at::Tensor& lengths, const at::Tensor& starts) const {
  if (lengths.defined()) check_lengths(lengths, input.size(0), input.size(1));
  if (!starts.defined()) return {lengths, {}};
  check_feature(kind(), PassFeature::kStarts);
  std::vector<int64_t> shape = {input.size(0), input.size(1)};
  if (options_.batch_first) std::swap(shape[0], shape[1]);
  RNNLAB_INVARIANT(
      starts.scalar_type() == at::kBool && starts.sizes() == at::IntArrayRef(shape) &&
          starts.device() == input.device(),
      fmt::format("starts are {}, wanted {} Bool on {}", describe(starts), describe(shape), input.device().str()));
  return {lengths, options_.batch_first ? starts.t() : starts};
}

RecurrentResult RecurrentLayer::forward(const at::Tensor& input, const RecurrentState& initial,
                                        const at::Tensor& lengths, const at::Tensor& starts, StatesOf states) {
  check_input(input, options_);
  check_kind_of_tensor("the input", input, weights_.front());
  const at::Tensor steps_first = options_.batch_first ? input.transpose(0, 1) : input;
  const Segments segments = checked(steps_first, lengths, starts);
  if (states == StatesOf::kEveryStep) check_feature(kind(), PassFeature::kAllStates);

  RECORD_USER_SCOPE_WITH_INPUTS(kForwardRange, range_inputs(options_, steps_first.size(0)));
  return in_layout(run(steps_first, complete(initial, steps_first.size(1)), segments, states));
}

RecurrentResult RecurrentLayer::in_layout(RecurrentResult result) const {
  if (!options_.batch_first) return result;
  result.output = result.output.transpose(0, 1);
  for (at::Tensor& all : result.all_states) all = all.transpose(1, 2);
  return result;
}

RecurrentResult RecurrentLayer::forward_tokens(const at::Tensor& table, const at::Tensor& tokens,
                                               const RecurrentState& initial, const at::Tensor& lengths,
                                               const at::Tensor& starts) {
  check_table(table, tokens, options_);
  check_kind_of_tensor("the table", table, weights_.front());
  if (lengths.defined() || starts.defined() || !reads_tokens(table, tokens.numel()))
    return forward(embedding_lookup(table, tokens), initial, lengths, starts);
  const at::Tensor steps_first = options_.batch_first ? tokens.t() : tokens;

  RECORD_USER_SCOPE_WITH_INPUTS(kForwardRange, range_inputs(options_, steps_first.size(0)));
  return in_layout(run_tokens(table, steps_first, complete(initial, steps_first.size(1))));
}

RecurrentResult RecurrentLayer::run_tokens(const at::Tensor& table, const at::Tensor& tokens,
                                           const RecurrentState& initial) {
  return run(embedding_lookup(table, tokens), initial, {}, StatesOf::kLastStep);
}

RecurrentState RecurrentLayer::complete(const RecurrentState& initial, int64_t batch_size) const {
  const std::vector<std::string_view>& names = info_of(options_.cell).states;
  RNNLAB_INVARIANT(initial.inner.size() < names.size(), wrong_states(initial, options_.cell));
  const std::vector<int64_t> shape = {options_.num_layers * options_.num_directions(), batch_size,
                                      options_.hidden_size};
  const auto completed = [&](size_t number, const at::Tensor& given) {
    if (given.defined())
      check_state(fmt::format("the initial {} state", names[number]), given, shape, weights_.front());
    if (given.defined() || begins_without_states()) return given;
    return at::zeros(shape, weights_.front().options().requires_grad(false));
  };
  RecurrentState all = {completed(0, initial.hidden)};
  for (size_t number = 1; number < names.size(); ++number)
    all.inner.push_back(completed(number, number <= initial.inner.size() ? initial.inner[number - 1] : at::Tensor()));
  return all;
}

std::shared_ptr<RecurrentLayer> make_layer(LayerKind kind, const RecurrentOptions& options) {
  auto layer = make_layer_without_weights(kind, options);
  layer->draw_weights();
  return layer;
}

std::shared_ptr<RecurrentLayer> make_layer_without_weights(LayerKind kind, const RecurrentOptions& options) {
  require_supported(kind, {.options = options});
  const auto make = info_of(kind).make;
  RNNLAB_INVARIANT(make != nullptr,
                   fmt::format("layer: {} was not resolved to another layer before make_layer", config::name_of(kind)));
  return make(options);
}

void copy_weights(const RecurrentLayer& from, RecurrentLayer& to) {
  check_same_parameters(from, to);
  const c10::AutoGradMode no_gradient(false);
  auto target = to.named_parameters(/*recurse=*/false);
  for (const auto& item : from.named_parameters(/*recurse=*/false)) target[item.key()].copy_(item.value());
}

// ---- tokens ----

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kNoPadding = -1;

at::Tensor embedding_gradient(const at::Tensor& gradient, const at::Tensor& tokens, int64_t num_rows) {
  if (!gains_by_one_hot(num_rows, tokens.numel()))
    return at::embedding_dense_backward(gradient.to(at::kFloat), tokens, num_rows, kNoPadding,
                                        /*scale_grad_by_freq=*/false);
  const at::Tensor rows = gradient.reshape({-1, gradient.size(-1)});
  const at::Tensor one_hot = one_hot_of_tokens(tokens, num_rows, rows.options());
  return rows.scalar_type() == at::kFloat ? at::mm(one_hot, rows) : at::mm(one_hot, rows, at::kFloat);
}

class EmbeddingFunction : public torch::autograd::Function<EmbeddingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& table, const at::Tensor& tokens,
                            at::ScalarType type) {
    context->save_for_backward({tokens});
    context->saved_data["num_rows"] = table.size(0);
    return at::embedding(table.to(type), tokens);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor tokens = context->get_saved_variables()[0];
    return {embedding_gradient(gradients[0], tokens, context->saved_data["num_rows"].toInt()), at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

bool gains_by_one_hot(int64_t num_rows, int64_t num_tokens) {
  constexpr int64_t kMaxRows = 1024;
  constexpr int64_t kMaxElements = 1 << 26;
  return num_rows <= std::min(num_tokens, kMaxRows) && num_rows * num_tokens <= kMaxElements;
}

at::Tensor one_hot_of_tokens(const at::Tensor& tokens, int64_t num_rows, const at::TensorOptions& options) {
  const at::Tensor flat = tokens.reshape({1, -1});
  return at::zeros({num_rows, flat.size(1)}, options).scatter_(0, flat, 1);
}

at::Tensor embedding_lookup(const at::Tensor& table, const at::Tensor& tokens) {
  if (!table.is_cuda() || table.scalar_type() != at::kFloat) return at::embedding(table, tokens);
  return EmbeddingFunction::apply(table, tokens, product_type(table));
}

}  // namespace rnnlab
