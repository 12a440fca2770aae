// SPDX-License-Identifier: Apache-2.0
// Tests how training uses a persistent layer beyond single passes: masks, layers at the same time, graphs, and
// gradients that are not needed.
#include <ATen/Functions.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <torch/autograd.h>

#include <cmath>
#include <utility>

#include "layers/execution_path.h"
#include "layers/on_cuda.h"
#include "layers/persistent_check.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

// A pass there and back: the output and the gradients of all parameters.
using Results = std::vector<at::Tensor>;

Results pass(RecurrentLayer& layer, const at::Tensor& input) {
  layer.zero_grad();
  Results results = {layer.forward(input).output};
  results[0].square().sum().backward();
  for (const at::Tensor& parameter : layer.parameters()) results.push_back(parameter.grad());
  return results;
}

Results copies(const Results& results) {
  Results all;
  for (const at::Tensor& tensor : results) all.push_back(tensor.detach().clone());
  return all;
}

class PersistentTraining : public ByOwnKernels {
 protected:
  static std::shared_ptr<RecurrentLayer> layer_of(const RecurrentOptions& options) {
    at::manual_seed(1);
    auto layer = make_layer(LayerKind::kPersistent, options);
    layer->to(at::kCUDA);
    return layer;
  }

  static at::Tensor data(int64_t num_steps, int64_t batch_size, int64_t input_size) {
    return at::randn({num_steps, batch_size, input_size}, at::device(at::kCUDA));
  }

  // Returns the derivative of a loss along a direction of the input, with the same masks each time: by the gradient,
  // and by differences.
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

// Layers run one after the other, and at the same time.
TEST_F(PersistentTraining, DropoutHasTheSameMasksBackward) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const int64_t num_steps : {6, 40}) {
      const auto layer = layer_of({.cell = cell, .input_size = 8, .hidden_size = 64, .num_layers = 3, .dropout = 0.5});
      const auto [told, found] = derivatives(*layer, num_steps);
      EXPECT_NEAR(told, found, 0.03 * std::abs(found) + 0.05) << config::name_of(cell) << ", " << num_steps << " steps";
    }
}

// If only some steps have a gradient, no (T, B, H) of zeros is made for the other steps. The layers
// run by clusters and over the whole GPU, one after the other and at the same time.
TEST_F(PersistentTraining, FinalStatesGiveTheGradientsOfTheLastStep) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const NumberClass& numbers : kNumberClasses)
      for (const auto& [num_steps, hidden_size] : {std::pair(6, 64), std::pair(40, 64), std::pair(40, 1024)}) {
        const TensorFloat32 products(numbers);
        const auto layer = layer_of({.cell = cell, .input_size = 8, .hidden_size = hidden_size, .num_layers = 3});
        layer->to(numbers.type);
        const at::Tensor input = data(num_steps, 20, 8).to(numbers.type);
        const auto gradients = [&](const auto& last_of) {
          layer->zero_grad();
          last_of(layer->forward(input)).square().sum().backward();
          Results all;
          for (const at::Tensor& parameter : layer->parameters()) all.push_back(parameter.grad());
          return copies(all);
        };
        const Results by_state = gradients([](const RecurrentResult& result) { return result.state.hidden[-1]; });
        const Results by_output = gradients([](const RecurrentResult& result) { return result.output[-1]; });
        const double rtol = numbers.allows_tf32 ? 1e-4 : 0.0;  // the exponents of float16 gradients may differ
        for (size_t i = 0; i < by_state.size(); ++i)
          EXPECT_TRUE(at::allclose(by_state[i], by_output[i], rtol, rtol * by_state[i].abs().max().item<double>()))
              << config::name_of(cell) << ", " << numbers.name << ", " << num_steps << " steps, " << hidden_size
              << " units, parameter " << i;
      }
}

// A NaN must not be lost when the blocks of a layer round the sums that they exchange.
TEST_F(PersistentTraining, NotANumberComesBackThroughAllStepsOfItsSequences) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const NumberClass& numbers : kNumberClasses)
      for (const auto& [hidden_size, batch_size] : {std::pair(256, 9), std::pair(768, 16), std::pair(1024, 70)}) {
        const TensorFloat32 products(numbers);
        const auto layer = layer_of({.cell = cell, .input_size = 8, .hidden_size = hidden_size});
        layer->to(numbers.type);
        const at::Tensor input = data(5, batch_size, 8).to(numbers.type).requires_grad_();
        at::Tensor upstream = at::ones({batch_size, hidden_size}, input.options().requires_grad(false));
        for (const int64_t sequence : {3, 8}) upstream[sequence].fill_(std::nan(""));
        layer->forward(input).output[-1].backward(upstream);
        const at::Tensor arrived = input.grad()[0].isnan();
        const auto describe = [&] {
          return fmt::format("{} {} {}, {}", config::name_of(cell), numbers.name, hidden_size, batch_size);
        };
        EXPECT_TRUE(arrived[3].all().item<bool>() && arrived[8].all().item<bool>()) << describe();
        EXPECT_EQ(arrived.sum().item<int64_t>(), 2 * 8) << "of those sequences alone: " << describe();
      }
}

// From float32 parameters: recurrent weights laid out, rows of the others filled up, where a layer of 16 bits has
// rounded ones.
TEST_F(PersistentTraining, AutocastComputesAsALayerOfItsType) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const auto& [hidden_size, batch_size] : {std::pair(64, 9), std::pair(1024, 9), std::pair(1024, 64)}) {
      const auto layer = layer_of({.cell = cell, .input_size = 499, .hidden_size = hidden_size});
      const at::Tensor input = data(64, batch_size, 499);
      const at::Tensor got = [&] {
        const Autocast autocast(at::kCUDA);
        return layer->forward(input).output.detach();
      }();
      layer->to(at::kBFloat16);
      const at::Tensor wanted = layer->forward(input.to(at::kBFloat16)).output.detach();
      EXPECT_TRUE(at::equal(got, wanted)) << config::name_of(cell) << " " << hidden_size << ", " << batch_size;
    }
}

TEST_F(PersistentTraining, StatesOfAPassWithoutGradientsKeepNothingElse) {
  const auto layer = layer_of({.input_size = 8, .hidden_size = 64, .num_layers = 2});
  const c10::AutoGradMode none(false);
  const RecurrentResult result = layer->forward(data(5, 9, 8));
  EXPECT_EQ(result.state.hidden.storage().nbytes(), static_cast<size_t>(result.state.hidden.numel() * 4));
  EXPECT_TRUE(at::equal(result.state.hidden[-1], result.output[-1]));
}

// Makes each LSTM layer compute output_of_one_layer() of its inputs, without memory: only the candidates have weights,
// and forget gates are closed.
void make_layers_pointwise(RecurrentLayer& layer) {
  const at::NoGradGuard no_gradients;
  for (at::Tensor& parameter : layer.parameters()) {
    parameter.zero_();
    if (parameter.dim() == 1) parameter.narrow(0, 128, 128).fill_(-30);
  }
  for (size_t i = 0; i < layer.parameters().size(); i += 4) layer.parameters()[i].narrow(0, 256, 128).fill_diagonal_(1);
}

at::Tensor output_of_one_layer(const at::Tensor& input) { return at::tanh(at::tanh(input) / 2) / 2; }

// Between layers, dropout multiplies by 0 or by 1 / (1 - 0.25), forward and backward. The third layer is not in a pair.
TEST_F(PersistentTraining, PairsDropTheShareAskedForInBothDirections) {
  const TensorFloat32 products(kNumberClasses[1]);
  for (const int64_t num_layers : {2, 3}) {
    const auto layer = layer_of({.input_size = 128, .hidden_size = 128, .num_layers = num_layers, .dropout = 0.25});
    make_layers_pointwise(*layer);
    const at::Tensor input = at::rand({6, 60, 128}, at::kCUDA).add_(0.5).requires_grad_();
    at::Tensor output;
    const ExecutionPath path = observe_execution_path([&] { output = layer->forward(input).output; });
    EXPECT_THAT(path.path, ::testing::HasSubstr("pairs of layers"));
    output.sum().backward();

    const at::Tensor is_kept = output.detach() != 0;
    const at::Tensor double_input = input.detach().to(at::kDouble).requires_grad_();
    at::Tensor wanted = output_of_one_layer(double_input);
    for (int64_t i = 1; i < num_layers; ++i) wanted = output_of_one_layer(wanted * is_kept / 0.75);
    wanted.sum().backward();
    EXPECT_NEAR(is_kept.to(at::kFloat).mean().item<double>(), std::pow(0.75, num_layers - 1), 0.01);
    EXPECT_LE((output - wanted).abs().max().item<double>(), 2e-3);
    EXPECT_LE((input.grad() - double_input.grad()).abs().max().item<double>(), 2e-3);
  }
}

TEST_F(PersistentTraining, DropoutIsNoneInEvaluation) {
  const TensorFloat32 products(kNumberClasses[1]);
  const auto layer = layer_of({.input_size = 8, .hidden_size = 64, .num_layers = 2, .dropout = 0.5});
  const auto without = layer_of({.input_size = 8, .hidden_size = 64, .num_layers = 2});
  copy_weights(*layer, *without);
  layer->eval();
  const at::Tensor input = data(5, 9, 8);
  EXPECT_TRUE(at::equal(layer->forward(input).output, without->forward(input).output));
}

// The same masks, and results that differ by other products at most: with float16 operands of large products too. 32
// sequences leave other layers room beside each cell's kernel, 56 beside an LSTM's.
TEST_F(PersistentTraining, LayersSideBySideAreThoseOneAfterTheOther) {
  const NumberClass& numbers = kNumberClasses[1];
  const TensorFloat32 products(numbers);
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const auto& [num_steps, batch_size] : {std::pair(128, 32), std::pair(64, 56)}) {
      RecurrentOptions options = {.cell = cell, .input_size = 512, .hidden_size = 512, .num_layers = 3, .dropout = 0.5};
      const auto side_by_side = layer_of(options);
      options.persistent_form = PersistentForm::kClustersAndTeams;
      const auto one_after_the_other = layer_of(options);
      const at::Tensor input = data(num_steps, batch_size, 512);
      const auto results_of = [&](RecurrentLayer& layer) {
        at::manual_seed(7);
        return pass(layer, input);
      };
      const Results got = results_of(*side_by_side), wanted = results_of(*one_after_the_other);
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_LE((got[i] - wanted[i]).abs().max().item<double>(),
                  numbers.tolerance * wanted[i].abs().max().item<double>())
            << config::name_of(cell) << ", " << batch_size << " sequences, result " << i;
    }
}

// Makes memory that LibTorch gives to the next tensors hold NaN.
void leave_nan_in_free_memory() {
  c10::cuda::CUDACachingAllocator::emptyCache();
  for (const int64_t size : {int64_t{1} << 26, int64_t{1} << 18}) (void)at::full({size}, NAN, at::device(at::kCUDA));
  c10::cuda::device_synchronize();
}

// The sizes of a block, of clusters, of layers side by side, and of the whole GPU.
TEST_F(PersistentTraining, StatesThatAreNotGivenAreZeroWhateverTheMemoryHeld) {
  const TensorFloat32 products(kNumberClasses[1]);
  for (const int64_t size : {64, 128, 512, 1024})
    for (const bool bidirectional : {false, true}) {
      const auto layer =
          layer_of({.input_size = 16, .hidden_size = size, .num_layers = 2, .bidirectional = bidirectional});
      const at::Tensor input = data(40, 60, 16);
      const int64_t num_states = bidirectional ? 4 : 2;
      const at::Tensor zeros = at::zeros({num_states, 60, size}, input.options());
      const at::Tensor wanted = layer->forward(input, {zeros, zeros}).output.detach();
      leave_nan_in_free_memory();
      EXPECT_TRUE(at::equal(layer->forward(input).output, wanted)) << "H " << size << ", " << bidirectional;
      leave_nan_in_free_memory();
      const at::NoGradGuard without_gradients;
      EXPECT_TRUE(at::equal(layer->forward(input).output, wanted)) << "H " << size << ", " << bidirectional;
    }
}

// A pass on `input`, which lies where the graph reads it.
Results captured(RecurrentLayer& layer, const at::Tensor& input, at::cuda::CUDAGraph& graph) {
  const c10::cuda::CUDAStreamGuard side(c10::cuda::getStreamFromPool(/*isHighPriority=*/true));  // as training does
  pass(layer, input);
  graph.capture_begin();
  const Results results = pass(layer, input);
  graph.capture_end();
  return results;
}

// The sizes of three kernel families, each twice, with other inputs than were captured; the first two side by side.
TEST_F(PersistentTraining, ReplaysOfAGraphAreThePass) {
  const TensorFloat32 products(kNumberClasses[1]);
  for (const int64_t size : {128, 512, 1024}) {
    const auto layer = layer_of({.input_size = 16, .hidden_size = size, .num_layers = 2});
    const at::Tensor input = data(40, 60, 16);
    at::cuda::CUDAGraph graph;
    const Results of_graph = captured(*layer, input, graph);
    c10::cuda::device_synchronize();
    for (int turn = 0; turn < 2; ++turn) {
      input.copy_(data(40, 60, 16));
      graph.replay();
      c10::cuda::device_synchronize();
      const Results replayed = copies(of_graph), wanted = pass(*layer, input);
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_TRUE(at::equal(replayed[i], wanted[i])) << "H " << size << ", turn " << turn << ", result " << i;
    }
  }
}

TEST_F(PersistentTraining, GradientsThatNobodyNeedsChangeNoOthers) {
  const TensorFloat32 products(kNumberClasses[1]);
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
