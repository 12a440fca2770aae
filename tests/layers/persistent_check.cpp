// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent_check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "layers/cells/cell.h"
#include "layers/half_pass_count.h"
#include "layers/layer_kind.h"
#include "layers/parameters.h"
#include "layers/persistent/persistent_pass.h"
#include "layers/persistent/products.h"

namespace rnnlab {
namespace {

// Inputs and gradients of results, in float64 and rounded to the class's type.
struct Drawn {
  at::Tensor input, lengths, starts;
  RecurrentState initial;
  at::Tensor output_gradient, hidden_gradient;
  std::vector<at::Tensor> inner_gradients;
};

at::Tensor rounded_normal(at::IntArrayRef shape, at::ScalarType type) {
  return at::randn(shape, at::device(at::kCUDA)).to(type).to(at::kDouble);
}

at::Tensor varied_lengths(const LayerShape& shape) {
  if (shape.ends == Ends::kWhole) return {};
  return at::randint(1, shape.num_steps + 1, {shape.batch_size}, at::kLong);
}

// The second inner state is the normalizer of sLSTM, which is positive.
std::vector<at::Tensor> inner_states(at::IntArrayRef shape, size_t count, at::ScalarType type) {
  std::vector<at::Tensor> states;
  for (size_t i = 0; i < count; ++i) states.push_back(rounded_normal(shape, type));
  if (count > 1) states[1] = (states[1].abs() + 0.5).to(type).to(at::kDouble);
  return states;
}

// Multiplies the gradients of the outputs, (T, B, units).
void let_grow(at::Tensor& gradient, const LayerShape& shape) {
  const auto from_0_to_1 = [&](int64_t count) {
    return at::arange(1, count + 1, gradient.options()) / static_cast<double>(count);
  };
  const at::Tensor steps = at::arange(shape.num_steps, gradient.options()).flip(0).view({-1, 1, 1});
  at::Tensor exponent = steps * (std::log(shape.growth) / static_cast<double>(shape.num_steps));
  if (shape.growth_differs)
    exponent = exponent * from_0_to_1(gradient.size(1)).view({-1, 1}) * from_0_to_1(gradient.size(2));
  gradient *= at::exp(exponent);
}

void silence_last_steps(Drawn& drawn, int64_t num_quiet_steps) {
  if (num_quiet_steps == 0) return;
  drawn.output_gradient.slice(0, -num_quiet_steps).zero_();
  drawn.hidden_gradient.zero_();
  for (at::Tensor& gradient : drawn.inner_gradients) gradient.zero_();
}

Drawn draw(const LayerShape& shape, at::ScalarType type) {
  const RecurrentOptions& options = shape.options;
  const std::vector<int64_t> states = {options.num_layers * options.num_directions(), shape.batch_size,
                                       options.hidden_size};
  const size_t num_inner = info_of(options.cell).states.size() - 1;
  Drawn drawn;
  drawn.input = rounded_normal({shape.num_steps, shape.batch_size, options.input_size}, type);
  drawn.input = (drawn.input * shape.magnitude).to(type).to(at::kDouble);
  drawn.lengths = varied_lengths(shape);
  if (shape.restarts == Restarts::kSome) {
    drawn.starts = at::rand({shape.num_steps, shape.batch_size}, at::device(at::kCUDA)).lt(0.1);
    drawn.starts[0].slice(0, 0, std::nullopt, 2).fill_(true);
  }
  if (shape.states == States::kGiven) {
    drawn.initial.hidden = rounded_normal(states, type);
    drawn.initial.inner = inner_states(states, num_inner, type);
  }
  drawn.output_gradient =
      rounded_normal({shape.num_steps, shape.batch_size, options.num_directions() * options.hidden_size}, type);
  let_grow(drawn.output_gradient, shape);
  drawn.hidden_gradient = rounded_normal(states, type);
  for (size_t i = 0; i < num_inner; ++i) drawn.inner_gradients.push_back(rounded_normal(states, type));
  silence_last_steps(drawn, shape.num_quiet_steps);
  return drawn;
}

bool has_relu(const RecurrentOptions& options) {
  return std::ranges::any_of(program_of(options).graph.nodes(),
                             [](const Node& node) { return node.operation == Operation::kRelu; });
}

// Weights of 0.9 / sqrt(columns). A relu's are smaller, and its biases keep its sums away from the kink: a layer that
// rounds to the other side of it has another gradient, and is not wrong.
void draw_weights(RecurrentLayer& layer, at::ScalarType type) {
  const bool is_relu = has_relu(layer.options());
  const at::AutoGradMode no_gradient(false);
  for (at::Tensor& parameter : layer.parameters()) {
    const bool is_bias = parameter.dim() == 1;
    const double bound = (is_relu ? 0.15 : 0.9) / std::sqrt(static_cast<double>(is_bias ? 4 : parameter.size(1)));
    at::Tensor values = at::empty(parameter.sizes(), at::device(at::kCUDA)).uniform_(-bound, bound);
    if (is_bias && is_relu)
      values = at::where(at::arange(values.size(0), at::device(at::kCUDA)) % 2 == 0, values + 0.6, values - 0.6);
    parameter.copy_(values.to(type));
  }
}

void divide_input_weights(RecurrentLayer& layer, double divisor, at::ScalarType type) {
  const at::AutoGradMode no_gradient(false);
  at::Tensor weight_ih = layer.parameters().front();
  weight_ih.copy_((weight_ih / divisor).to(type));
}

at::Tensor leaf(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.defined() ? tensor.detach().clone().to(type).requires_grad_() : tensor;
}

// The gradient of sLSTM's stabilizer belongs to the larger one of two gates, and rounding may change which one that is.
// So the loss reads the ratio of cell and normalizer, which does not depend on the stabilizer.
at::Tensor loss_of_inner(Cell cell, const std::vector<at::Tensor>& states, const std::vector<at::Tensor>& gradients) {
  if (states.empty()) return at::zeros({}, at::kCUDA);
  const at::Tensor read = cell == Cell::kSlstm ? states[0] / states[1] : states[0];
  return (read * gradients[0].to(read.scalar_type())).sum();
}

// Output, final states, and the gradients of everything that has one.
std::vector<at::Tensor> results_of(RecurrentLayer& layer, const Drawn& drawn, at::ScalarType type) {
  const at::Tensor input = leaf(drawn.input, type);
  RecurrentState initial = {leaf(drawn.initial.hidden, type)};
  for (const at::Tensor& state : drawn.initial.inner) initial.inner.push_back(leaf(state, type));
  const RecurrentResult result = layer.forward(input, initial, drawn.lengths, drawn.starts);
  const at::Tensor loss = (result.output * drawn.output_gradient.to(type)).sum() +
                          (result.state.hidden * drawn.hidden_gradient.to(type)).sum() +
                          loss_of_inner(layer.options().cell, result.state.inner, drawn.inner_gradients);
  layer.zero_grad();
  loss.backward();
  std::vector<at::Tensor> results = {result.output.detach(), result.state.hidden.detach(), input.grad()};
  for (const at::Tensor& state : result.state.inner) results.push_back(state.detach());
  if (initial.hidden.defined()) results.push_back(initial.hidden.grad());
  for (const at::Tensor& state : initial.inner) results.push_back(state.grad());
  for (const at::Tensor& parameter : layer.parameters()) results.push_back(parameter.grad());
  return results;
}

double error_of(const at::Tensor& got, const at::Tensor& wanted) {
  const at::Tensor exact = got.to(at::kDouble);
  if (!exact.isfinite().all().item<bool>()) return INFINITY;
  const double largest = std::max(1.0, wanted.abs().max().item<double>());
  return (exact - wanted).abs().max().item<double>() / largest;
}

}  // namespace

std::string describe(const LayerShape& shape, const NumberClass& numbers) {
  const RecurrentOptions& options = shape.options;
  return fmt::format(
      "{}: {} {}, H {} in {} heads, I {}, T {}, B {}, {} layers{}{}{}{}",
      config::name_of(shape.options.persistent_form), config::name_of(options.cell), numbers.name, options.hidden_size,
      options.heads, options.input_size, shape.num_steps, shape.batch_size, options.num_layers,
      options.bidirectional ? ", both directions" : "", shape.ends == Ends::kVaried ? ", varied lengths" : "",
      shape.states == States::kGiven ? ", given states" : "", shape.restarts == Restarts::kSome ? ", starts" : "");
}

bool is_long_run() {
  const char* wanted = std::getenv("RNNLAB_LONG_RUN");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

double largest_error(const LayerShape& shape, const NumberClass& numbers, uint64_t seed) {
  at::manual_seed(seed);
  const bool can_hoist = !why_unsupported(LayerKind::kHoisted, {.options = shape.options});
  const LayerKind reference = can_hoist ? LayerKind::kHoisted : LayerKind::kNaive;
  const auto exact = make_layer(reference, shape.options);
  exact->to(at::kCUDA, at::kDouble);
  draw_weights(*exact, numbers.type);
  divide_input_weights(*exact, shape.magnitude, numbers.type);
  const auto layer = make_layer(LayerKind::kPersistent, shape.options);
  layer->to(at::kCUDA, numbers.type);
  copy_weights(*exact, *layer);
  const Drawn drawn = draw(shape, numbers.type);
  const TensorFloat32 products(numbers);
  const auto got = results_of(*layer, drawn, numbers.type);
  const auto wanted = results_of(*exact, drawn, at::kDouble);
  double largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) largest = std::max(largest, error_of(got[i], wanted[i]));
  return largest;
}

void expect_nan_stays_in_its_sequence(RecurrentLayer& layer, int64_t batch_size, at::ScalarType type) {
  layer.to(at::kCUDA, type);
  at::Tensor input = at::randn({6, batch_size, 3}, at::device(at::kCUDA)).to(type);
  const at::Tensor wanted = layer.forward(input).output;
  input[2][5].fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor got = layer.forward(input).output;
  EXPECT_TRUE(got.select(1, 5).slice(0, 2).isnan().all().item<bool>());
  EXPECT_TRUE(at::equal(got.slice(0, 0, 2), wanted.slice(0, 0, 2)));
  EXPECT_TRUE(at::equal(got.slice(1, 0, 5), wanted.slice(1, 0, 5)));
  EXPECT_TRUE(at::equal(got.slice(1, 6), wanted.slice(1, 6)));
}

void expect_gradients_of_any_magnitude(RecurrentLayer& layer, const NumberClass& numbers, const StepsAndBatch& sizes) {
  layer.to(at::kCUDA);
  const at::Tensor data = at::randn({sizes.num_steps, sizes.batch_size, layer.options().input_size}, at::kCUDA);
  const TensorFloat32 products(numbers);
  const auto gradients_for = [&](double factor) {
    const at::Tensor input = data.clone().requires_grad_();
    layer.zero_grad();
    (layer.forward(input).output.sum() * factor).backward();
    std::vector<at::Tensor> gradients = {input.grad() / factor};
    for (const at::Tensor& parameter : layer.parameters()) gradients.push_back(parameter.grad() / factor);
    return gradients;
  };
  const auto wanted = gradients_for(1);
  for (const double factor : {0x1p-60, 0x1p40}) {
    const auto got = gradients_for(factor);
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(at::equal(got[i], wanted[i])) << "times " << factor << ", gradient " << i << " of the input first";
  }
}

int64_t steps_of_large_products(const RecurrentOptions& options, int64_t batch_size) {
  const int64_t num_gates = parameter_specs(options).front().shape.front();
  const auto of_step = static_cast<double>(batch_size * num_gates * std::min(options.hidden_size, options.input_size));
  return 8 * std::max<int64_t>(1, std::llround(std::ceil(kLeastMultiplications / of_step / 8)));
}

void expect_float64_by_half_gradients(LayerShape shape) {
  const NumberClass& numbers = kNumberClasses[1];
  {  // the check of an unknown GPU has half passes of its own
    const TensorFloat32 products(numbers);
    require_persistent(c10::Device(c10::kCUDA, 0), numbers.type);
  }
  for (const double growth : {1.0, 1e-6, 1e12}) {
    shape.growth = growth;
    double error = 0;
    EXPECT_EQ(num_half_passes_during([&] { error = largest_error(shape, numbers, 1); }),
              shape.options.num_layers * shape.options.num_directions())
        << describe(shape, numbers);
    EXPECT_LE(error, numbers.tolerance) << describe(shape, numbers) << ", growth " << growth;
  }
}

}  // namespace rnnlab
