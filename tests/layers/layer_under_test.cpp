// SPDX-License-Identifier: Apache-2.0
#include "layers/layer_under_test.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

namespace rnnlab {
namespace {

using reference::Problem;
using reference::Result;
using reference::Vector;

at::Tensor to_tensor(const Vector& values, at::IntArrayRef shape, const Place& place) {
  return at::tensor(values, at::kDouble).reshape(shape).to(place.type).to(place.device);
}

Vector to_vector(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  return Vector(flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel());
}

void round_all(const std::vector<Vector*>& vectors, at::ScalarType type) {
  for (Vector* vector : vectors)
    if (!vector->empty()) *vector = to_vector(at::tensor(*vector, at::kDouble).to(type));
}

bool is_zero(const Vector& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

at::Tensor lengths_of(const Problem& problem) {
  const auto& lengths = problem.lengths;
  const bool whole = std::all_of(lengths.begin(), lengths.end(), [&](int64_t n) { return n == problem.num_steps; });
  return whole ? at::Tensor() : at::tensor(lengths, at::kLong);
}

// Returns (T, B) bool, or an undefined tensor.
at::Tensor starts_of(const Problem& problem, const Place& place) {
  if (problem.starts.empty()) return {};
  const at::Tensor starts = at::zeros({problem.num_steps, problem.batch_size()}, at::kBool);
  std::copy(problem.starts.begin(), problem.starts.end(), starts.mutable_data_ptr<bool>());
  return starts.to(place.device);
}

std::vector<int64_t> state_shape(const Problem& problem) {
  const RecurrentOptions& options = problem.options;
  return {options.num_layers * options.num_directions(), problem.batch_size(), options.hidden_size};
}

at::Tensor leaf_state(const Vector& values, const Problem& problem, const Place& place) {
  if (values.empty() || is_zero(values)) return {};
  return to_tensor(values, state_shape(problem), place).requires_grad_();
}

double error(const Vector& got, const Vector& wanted) {
  double largest_error = 0, largest = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(got[i])) return INFINITY;
    largest_error = std::max(largest_error, std::abs(got[i] - wanted[i]));
    largest = std::max(largest, std::abs(wanted[i]));
  }
  return largest_error / largest;
}

}  // namespace

Problem rounded(Problem problem, at::ScalarType type) {
  round_all({&problem.input, &problem.hidden}, type);
  for (Vector& state : problem.inner) round_all({&state}, type);
  round_all(reference::vectors_of(problem.weights), type);
  return problem;
}

Result rounded(Result upstream, at::ScalarType type) {
  round_all({&upstream.output, &upstream.hidden}, type);
  for (Vector& state : upstream.inner) round_all({&state}, type);
  for (Vector& states : upstream.all) round_all({&states}, type);
  return upstream;
}

std::shared_ptr<RecurrentLayer> make_layer_for(LayerKind kind, const Problem& problem, const Place& place) {
  const auto layer = make_layer(kind, problem.options);
  layer->to(place.device, place.type);
  auto parameters = layer->named_parameters();
  auto weights = problem.weights;
  const auto vectors = reference::vectors_of(weights);
  const auto specs = parameter_specs(problem.options);
  const at::AutoGradMode no_gradient(false);
  for (size_t i = 0; i < specs.size(); ++i)
    parameters[specs[i].name].copy_(to_tensor(*vectors[i], specs[i].shape, place));
  return layer;
}

Results run(RecurrentLayer& layer, const Problem& problem, const Result& upstream, const Place& place) {
  const RecurrentOptions& options = problem.options;
  const int64_t num_steps = problem.num_steps, batch_size = problem.batch_size();
  const bool batch_first = layer.options().batch_first;
  const auto as_given = [&](const at::Tensor& x) {
    return batch_first && x.defined() ? x.transpose(0, 1).contiguous() : x;
  };
  const auto steps_first = [&](const at::Tensor& x) { return batch_first ? x.transpose(0, 1) : x; };

  const at::Tensor input =
      as_given(to_tensor(problem.input, {num_steps, batch_size, options.input_size}, place)).requires_grad_();
  RecurrentState initial = {leaf_state(problem.hidden, problem, place)};
  for (const Vector& state : problem.inner) initial.inner.push_back(leaf_state(state, problem, place));
  const auto states = problem.returns_all_states ? StatesOf::kEveryStep : StatesOf::kLastStep;
  const RecurrentResult result =
      layer.forward(input, initial, lengths_of(problem), as_given(starts_of(problem, place)), states);

  const int64_t width = options.num_directions() * options.hidden_size;
  at::Tensor loss =
      (steps_first(result.output) * to_tensor(upstream.output, {num_steps, batch_size, width}, place)).sum() +
      (result.state.hidden * to_tensor(upstream.hidden, state_shape(problem), place)).sum();
  for (size_t i = 0; i < result.state.inner.size(); ++i)
    loss = loss + (result.state.inner[i] * to_tensor(upstream.inner[i], state_shape(problem), place)).sum();
  std::vector<at::Tensor> all;  // (L * D, T, B, H)
  for (const at::Tensor& one : result.all_states) all.push_back(batch_first ? one.transpose(1, 2) : one);
  for (size_t i = 0; i < all.size(); ++i)
    loss = loss + (all[i] * to_tensor(upstream.all[i], all[i].sizes(), place)).sum();
  layer.zero_grad();
  loss.backward();

  Results results = {{"output", to_vector(steps_first(result.output))},
                     {"final hidden state", to_vector(result.state.hidden)},
                     {"gradient of the input", to_vector(steps_first(input.grad()))}};
  const auto& names = info_of(options.cell).states;
  for (size_t i = 0; i < result.state.inner.size(); ++i)
    results.push_back({fmt::format("final {} state", names[i + 1]), to_vector(result.state.inner[i])});
  for (size_t i = 0; i < all.size(); ++i)
    results.push_back({fmt::format("{} states of all steps", names[i]), to_vector(all[i])});
  if (initial.hidden.defined())
    results.push_back({"gradient of the initial hidden state", to_vector(initial.hidden.grad())});
  for (size_t i = 0; i < initial.inner.size(); ++i)
    if (initial.inner[i].defined())
      results.push_back(
          {fmt::format("gradient of the initial {} state", names[i + 1]), to_vector(initial.inner[i].grad())});
  for (const auto& parameter : layer.named_parameters())
    results.push_back({"gradient of " + parameter.key(), to_vector(parameter.value().grad())});
  return results;
}

Results run_reference(const Problem& problem, const Result& upstream) {
  const Result result = reference::forward(problem);
  auto gradients = reference::backward(problem, upstream);
  Results results = {{"output", result.output},
                     {"final hidden state", result.hidden},
                     {"gradient of the input", gradients.input},
                     {"gradient of the initial hidden state", gradients.hidden}};
  const auto& names = info_of(problem.options.cell).states;
  for (size_t i = 0; i < result.inner.size(); ++i) {
    results.push_back({fmt::format("final {} state", names[i + 1]), result.inner[i]});
    results.push_back({fmt::format("gradient of the initial {} state", names[i + 1]), gradients.inner[i]});
  }
  for (size_t i = 0; i < result.all.size(); ++i)
    results.push_back({fmt::format("{} states of all steps", names[i]), result.all[i]});
  const auto specs = parameter_specs(problem.options);
  const auto vectors = reference::vectors_of(gradients.weights);
  for (size_t i = 0; i < specs.size(); ++i) results.push_back({"gradient of " + specs[i].name, *vectors[i]});
  return results;
}

std::vector<at::Tensor> results_and_gradients(RecurrentLayer& layer, const at::Tensor& input,
                                              const Segments& segments) {
  const at::Tensor x = input.clone().requires_grad_(true);
  const RecurrentResult result = layer.forward(x, {}, segments.lengths, segments.starts);
  std::vector<at::Tensor> all = {result.output, result.state.hidden};
  all.insert(all.end(), result.state.inner.begin(), result.state.inner.end());
  at::Tensor sum = at::zeros({}, input.options());
  for (const at::Tensor& one : all)
    sum = sum + (one * at::arange(1, one.numel() + 1, one.options()).view_as(one)).sum();
  std::vector<at::Tensor> inputs = layer.parameters();
  inputs.push_back(x);
  for (const at::Tensor& gradient : torch::autograd::grad({sum}, inputs)) all.push_back(gradient);
  return all;
}

void expect_near(const Results& got, const Results& wanted, double tolerance) {
  for (const NamedVector& mine : got) {
    const auto other = std::find_if(wanted.begin(), wanted.end(), [&](const auto& w) { return w.name == mine.name; });
    ASSERT_NE(other, wanted.end()) << mine.name;
    ASSERT_EQ(mine.values.size(), other->values.size()) << mine.name;
    EXPECT_LE(error(mine.values, other->values), tolerance) << mine.name;
  }
}

}  // namespace rnnlab
