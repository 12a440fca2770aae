// SPDX-License-Identifier: Apache-2.0
// The operators without Python: threads that train and evaluate at once, with weights that they share. What Python adds
// (types, shapes of torch.nn, compilation) is tested in tests/python.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "layers/parameters.h"

namespace rnnlab::operators {
namespace {

using Results = std::tuple<at::Tensor, std::vector<at::Tensor>, at::Tensor>;
using Recurrent = Results(const at::Tensor&, at::TensorList, at::TensorList, const std::optional<at::Tensor>&,
                          std::string_view, std::string_view, int64_t, bool, double, bool, bool, bool, bool,
                          std::optional<at::ScalarType>, at::ScalarType, at::ScalarType,
                          const std::optional<at::Tensor>&, bool);

constexpr int64_t kHidden = 16, kInputs = 5, kLayers = 2;
constexpr size_t kNumThreads = 8;

at::Tensor computed(std::string_view layer, const at::Tensor& input, at::TensorList weights) {
  static const auto kOperator =
      c10::Dispatcher::singleton().findSchemaOrThrow("rnnlab::recurrent", "").typed<Recurrent>();
  const std::vector<at::Tensor> states(2, at::zeros({kLayers, input.size(1), kHidden}));
  const bool is_recorded = at::GradMode::is_enabled();
  return std::get<0>(kOperator.call(input, states, weights, std::nullopt, "lstm", layer, kLayers, false, 0.0, true,
                                    is_recorded && input.requires_grad(), false, is_recorded, std::nullopt, at::kFloat,
                                    at::kFloat, std::nullopt, false));
}

std::vector<at::Tensor> weights_of_lstm() {
  std::vector<at::Tensor> weights;
  for (const ParameterSpec& spec :
       parameter_specs({.cell = Cell::kLstm, .input_size = kInputs, .hidden_size = kHidden, .num_layers = kLayers}))
    weights.push_back((at::randn(spec.shape) * 0.3).requires_grad_());
  return weights;
}

// What thread `number` computes: most train, one evaluates, and one needs only the gradient of its input.
std::vector<at::Tensor> pass_of(size_t number, std::string_view layer, const at::Tensor& data,
                                const std::vector<at::Tensor>& weights) {
  if (number == 1) {
    const c10::AutoGradMode off(false);
    return {computed(layer, data, weights)};
  }
  const at::Tensor input = data.detach().requires_grad_();
  const at::Tensor output = computed(layer, input, weights);
  std::vector<at::Tensor> sources = {input};
  if (number != 2) sources.insert(sources.end(), weights.begin(), weights.end());
  std::vector<at::Tensor> found = torch::autograd::grad({output.sin().sum()}, sources);
  found.push_back(output.detach());
  return found;
}

bool are_close(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!at::allclose(found[i], wanted[i], 1e-4, 1e-5)) return false;
  return found.size() == wanted.size();
}

int passes_of_each_thread() {
  const char* given = std::getenv("RNNLAB_THREAD_PASSES");
  return given == nullptr ? 25 : std::atoi(given);
}

class ManyThreads : public testing::TestWithParam<std::string_view> {};

TEST_P(ManyThreads, ComputeWhatOneThreadComputes) {
  const std::vector<at::Tensor> weights = weights_of_lstm();
  std::vector<at::Tensor> data;
  std::vector<std::vector<at::Tensor>> wanted;
  for (size_t i = 0; i < kNumThreads; ++i) {
    data.push_back(at::randn({static_cast<int64_t>(3 + i), static_cast<int64_t>(1 + i % 3), kInputs}));
    wanted.push_back(pass_of(i, GetParam(), data.back(), weights));
  }
  std::atomic<int> num_wrong = 0;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kNumThreads; ++i)
    threads.emplace_back([&, i] {
      at::set_num_threads(1);
      for (int pass = 0; pass < passes_of_each_thread(); ++pass)
        if (!are_close(pass_of(i, GetParam(), data[i], weights), wanted[i])) ++num_wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Layers, ManyThreads,
                         testing::Values("naive", "grouped", "streamed", "fused_pointwise", "pretransposed", "hoisted",
                                         "wavefront", "diagonal", "blocked", "fused"),
                         [](const auto& layer) { return std::string(layer.param); });

}  // namespace
}  // namespace rnnlab::operators
