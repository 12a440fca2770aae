#include <ATen/Functions.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <cmath>
#include <functional>
#include <utility>

#include "persistent_check.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {
namespace {

using testing::Test;

// What training does with a persistent layer beyond single passes: masks, graphs, and gradients that nobody needs.
class PersistentTraining : public Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  }

  static std::shared_ptr<RecurrentLayer> layer_of(const RecurrentOptions& options) {
    at::manual_seed(1);
    auto layer = make_layer(LayerKind::kPersistent, options);
    layer->to(at::kCUDA);
    return layer;
  }

  static at::Tensor data(int64_t num_steps, int64_t batch_size, int64_t input_size) {
    return at::randn({num_steps, batch_size, input_size}, at::device(at::kCUDA));
  }

  // Of a loss along a direction of the input, with the same masks each time: by the gradient, and by differences.
  static std::pair<double, double> derivatives(RecurrentLayer& layer, int64_t num_steps) {
    const at::Tensor input = data(num_steps, 20, 8), direction = data(num_steps, 20, 8);
    const at::Tensor upstream = data(num_steps, 20, layer.options().hidden_size);
    const auto loss = [&](const at::Tensor& of) {
      at::manual_seed(7);
      return (layer.forward(of).output * upstream).sum();
    };
    const at::Tensor leaf = input.clone().requires_grad_();
    loss(leaf).backward();
    constexpr double kStep = 1e-2;
    const double difference = (loss(input + kStep * direction) - loss(input - kStep * direction)).item<double>();
    return {(leaf.grad() * direction).sum().item<double>(), difference / (2 * kStep)};
  }
};

// Layers one after the other, and side by side.
TEST_F(PersistentTraining, DropoutHasTheSameMasksBackward) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const int64_t num_steps : {6, 40}) {
      const auto layer = layer_of({.cell = cell, .input_size = 8, .hidden_size = 64, .num_layers = 3, .dropout = 0.5});
      const auto [told, found] = derivatives(*layer, num_steps);
      EXPECT_NEAR(told, found, 0.03 * std::abs(found) + 0.05) << config::name_of(cell) << ", " << num_steps << " steps";
    }
}

TEST_F(PersistentTraining, DropoutIsNoneInEvaluation) {
  const auto layer = layer_of({.input_size = 8, .hidden_size = 64, .num_layers = 2, .dropout = 0.5});
  const auto without = layer_of({.input_size = 8, .hidden_size = 64, .num_layers = 2});
  copy_weights(*layer, *without);
  layer->eval();
  const at::Tensor input = data(5, 9, 8);
  EXPECT_TRUE(at::equal(layer->forward(input).output, without->forward(input).output));
}

// The sizes of three kernel families, each twice, with other inputs than were captured; the first two side by side.
TEST_F(PersistentTraining, ReplaysOfAGraphAreThePass) {
  for (const int64_t size : {128, 512, 1024}) {
    const auto layer = layer_of({.input_size = 16, .hidden_size = size, .num_layers = 2});
    const TensorFloat32 products(kNumberClasses[1]);
    at::Tensor input = data(40, 60, 16), output;
    std::vector<at::Tensor> gradients;
    const auto pass = [&] {
      layer->zero_grad();
      output = layer->forward(input).output;
      output.square().sum().backward();
    };
    const auto results = [&] {
      std::vector<at::Tensor> all = {output.detach().clone()};
      for (const at::Tensor& parameter : layer->parameters()) all.push_back(parameter.grad().clone());
      return all;
    };
    at::cuda::CUDAGraph graph;
    {
      const c10::cuda::CUDAStreamGuard side(c10::cuda::getStreamFromPool());
      pass();
      graph.capture_begin();
      pass();
      graph.capture_end();
    }
    c10::cuda::device_synchronize();
    const at::Tensor captured_output = output;
    std::vector<at::Tensor> captured = {captured_output};
    for (const at::Tensor& parameter : layer->parameters()) captured.push_back(parameter.grad());
    for (int turn = 0; turn < 2; ++turn) {
      input.copy_(data(40, 60, 16));
      graph.replay();
      c10::cuda::device_synchronize();
      std::vector<at::Tensor> replayed;
      for (const at::Tensor& tensor : captured) replayed.push_back(tensor.detach().clone());
      pass();
      const auto wanted = results();
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_TRUE(at::equal(replayed[i], wanted[i])) << "H " << size << ", turn " << turn << ", result " << i;
    }
  }
}

TEST_F(PersistentTraining, GradientsThatNobodyNeedsChangeNoOthers) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh}) {
    const auto layer = layer_of({.cell = cell, .input_size = 8, .hidden_size = 128, .num_layers = 2});
    const at::Tensor input = data(40, 20, 8);
    const at::Tensor leaf = input.clone().requires_grad_();
    layer->forward(leaf).output.square().sum().backward();
    std::vector<at::Tensor> wanted;
    for (const at::Tensor& parameter : layer->parameters()) wanted.push_back(parameter.grad().clone());

    layer->zero_grad();
    layer->forward(input).output.square().sum().backward();
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::equal(layer->parameters()[i].grad(), wanted[i]));

    for (at::Tensor& parameter : layer->parameters()) parameter.set_requires_grad(false);
    const at::Tensor alone = input.clone().requires_grad_();
    layer->forward(alone).output.square().sum().backward();
    EXPECT_TRUE(at::equal(alone.grad(), leaf.grad()));
  }
}

}  // namespace
}  // namespace rnnlab
