// SPDX-License-Identifier: Apache-2.0
// Tests `layer: cudnn` on a GPU: every algorithm against naive in float64, lengths, one buffer of weights, CUDA graphs.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>

#include "base/system/temporary_folder.h"
#include "layers/execution_path.h"
#include "layers/layer_under_test.h"
#include "layers/on_cuda.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using config::name_of;
using reference::Problem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

at::TensorOptions on_gpu(at::ScalarType type = at::kFloat) { return at::device(at::kCUDA).dtype(type); }

std::shared_ptr<RecurrentLayer> layer_on_gpu(const RecurrentOptions& options, at::ScalarType type = at::kFloat) {
  const auto layer = make_layer(LayerKind::kCudnn, options);
  layer->to(at::kCUDA, type);
  return layer;
}

std::set<const void*> storages_of(const std::vector<at::Tensor>& tensors) {
  std::set<const void*> storages;
  for (const at::Tensor& tensor : tensors) storages.insert(tensor.storage().data());
  return storages;
}

std::vector<at::Tensor> gradients_of(const RecurrentLayer& layer) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : layer.parameters()) gradients.push_back(parameter.grad());
  return gradients;
}

TEST(CudnnLayer, RefusesTheCpuWithItsReason) {
  const auto layer = make_layer(LayerKind::kCudnn, {.input_size = 3, .hidden_size = 4});
  EXPECT_EQ(user_error_of([&] {
              layer->forward(at::zeros({2, 2, 3}));
            }),
            *refusal_of(LayerKind::kCudnn, Processor::kCpu));
}

// Answers of `auto` go to a folder of the test's own.
class CudnnLayerOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
    at::globalContext().setAllowTF32CuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
    setenv("RNNLAB_CACHE", folder_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("RNNLAB_CACHE"); }

  rnnlab::testing::TemporaryFolder folder_;
};

struct AlgorithmCase {
  CudnnAlgorithm algorithm;
  at::ScalarType type;
};

class CudnnAlgorithms : public CudnnLayerOnGpu, public ::testing::WithParamInterface<AlgorithmCase> {
 protected:
  static constexpr int64_t kSteps = 5, kBatch = 16;

  // Returns whether cuDNN has run the case; if it rejects the case, the message must say so.
  static bool matches_naive(const RecurrentOptions& options) {
    const at::ScalarType type = GetParam().type;
    const Problem problem = rounded(reference::random_problem(options, {.num_steps = kSteps, .batch_size = kBatch},
                                                              options.cell == Cell::kRnnRelu ? 1e-5 : 0),
                                    type);
    const auto upstream = rounded(reference::random_upstream(problem), type);
    const Place exact = {at::kDouble, at::kCUDA}, tested = {type, at::kCUDA};
    const auto layer = make_layer_for(LayerKind::kCudnn, problem, tested);
    Results results;
    const std::string complaint = user_error_of([&] { results = run(*layer, problem, upstream, tested); });
    if (!complaint.empty()) {
      EXPECT_THAT(complaint, StartsWith(fmt::format("cudnn_algorithm: {} cannot run ", name_of(GetParam().algorithm))));
      return false;
    }
    const auto naive = make_layer_for(LayerKind::kNaive, problem, exact);
    expect_near(results, run(*naive, problem, upstream, exact), tolerance_of(type, at::kCUDA));
    return true;
  }
};

std::vector<AlgorithmCase> algorithm_cases() {
  std::vector<AlgorithmCase> cases;
  for (const auto& [algorithm, name] : config::EnumNames<CudnnAlgorithm>::kNames)
    for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) cases.push_back({algorithm, type});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, CudnnAlgorithms, ::testing::ValuesIn(algorithm_cases()), [](const auto& tested) {
  return fmt::format("{}_{}", name_of(tested.param.algorithm), c10::toString(tested.param.type));
});

TEST_P(CudnnAlgorithms, MatchNaiveAtEverySizeThatTheyRun) {
  const bool must_run =
      GetParam().algorithm == CudnnAlgorithm::kAuto || GetParam().algorithm == CudnnAlgorithm::kStandard;
  int64_t num_lstm_runs = 0;
  // Some of so many relus cross their kink in 16 bits, and then have a different gradient.
  std::vector<Cell> cells = {Cell::kLstm, Cell::kGru, Cell::kRnnTanh};
  if (GetParam().type == at::kFloat) cells.push_back(Cell::kRnnRelu);
  const bool compiles = GetParam().algorithm == CudnnAlgorithm::kAuto ||
                        GetParam().algorithm == CudnnAlgorithm::kPersistDynamic;  // for each shape, which takes long
  const std::vector<int64_t> hidden_sizes =
      compiles ? std::vector<int64_t>{64, 256} : std::vector<int64_t>{64, 96, 128, 256, 512};
  for (const Cell cell : cells)
    for (const int64_t hidden_size : hidden_sizes) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(cell), hidden_size));
      const bool has_run = matches_naive(
          {.cell = cell, .input_size = 64, .hidden_size = hidden_size, .cudnn_algorithm = GetParam().algorithm});
      if (cell == Cell::kLstm) num_lstm_runs += has_run;
      if (must_run) {
        EXPECT_TRUE(has_run);
      }
    }
  EXPECT_GE(num_lstm_runs, 1) << "an algorithm that runs nowhere is not tested";
}

TEST_P(CudnnAlgorithms, MatchNaiveInStacks) {
  for (const bool bidirectional : {false, true}) {
    SCOPED_TRACE(bidirectional ? "bidirectional" : "one direction");
    matches_naive({.input_size = 32,
                   .hidden_size = 64,
                   .num_layers = 2,
                   .bidirectional = bidirectional,
                   .cudnn_algorithm = GetParam().algorithm});
  }
}

TEST_F(CudnnLayerOnGpu, SaysWhatCudnnRefuses) {
  const RecurrentOptions options = {
      .input_size = 64, .hidden_size = 512, .cudnn_algorithm = CudnnAlgorithm::kSmallHidden};
  const auto layer = layer_on_gpu(options);
  const std::string complaint = user_error_of([&] { layer->forward(at::randn({5, 16, 64}, on_gpu())); });
  for (const char* token :
       {"small_hidden cannot run lstm", "H 512", "CUDNN_STATUS_NOT_SUPPORTED", "algorithm: standard"})
    EXPECT_THAT(complaint, HasSubstr(token));
  // The error leaves nothing behind.
  const auto working = layer_on_gpu({.input_size = 64, .hidden_size = 512});
  const auto naive = make_layer(LayerKind::kNaive, working->options());
  naive->to(at::kCUDA);
  copy_weights(*working, *naive);
  const at::Tensor input = at::randn({5, 16, 64}, on_gpu());
  EXPECT_TRUE(at::allclose(working->forward(input).output, naive->forward(input).output, 1e-4, 1e-4));
}

TEST_F(CudnnLayerOnGpu, ReadsNothingBeyondALength) {
  const auto layer = layer_on_gpu({.input_size = 8, .hidden_size = 32, .num_layers = 2, .bidirectional = true});
  const at::Tensor lengths = at::tensor({3, 6, 1, 5}, at::kLong);
  at::Tensor input = at::randn({6, 4, 8}, on_gpu());
  const at::Tensor beyond = at::arange(6).unsqueeze(1).ge(lengths.unsqueeze(0)).unsqueeze(2).to(at::kCUDA);
  const auto results_with = [&](double filling) {
    const at::Tensor leaf = input.masked_fill(beyond, filling).requires_grad_();
    layer->zero_grad();
    const RecurrentResult result = layer->forward(leaf, {}, lengths);
    (result.output.square().sum() + result.state.hidden.sum() + result.state.cell().sum()).backward();
    std::vector<at::Tensor> results = {result.output, result.state.hidden, result.state.cell(), leaf.grad()};
    for (const at::Tensor& gradient : gradients_of(*layer)) results.push_back(gradient.clone());
    return results;
  };
  const auto wanted = results_with(0), results = results_with(NAN);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::equal(results[i], wanted[i])) << i;
  EXPECT_EQ(results[0].masked_select(beyond).count_nonzero().item<int64_t>(), 0) << "outputs";
  EXPECT_EQ(results[3].masked_select(beyond).count_nonzero().item<int64_t>(), 0) << "gradient of the input";
}

TEST_F(CudnnLayerOnGpu, KeepsItsWeightsAndTheirGradientsInOneBuffer) {
  for (const double dropout : {0.0, 0.5}) {
    const auto layer =
        layer_on_gpu({.input_size = 5, .hidden_size = 7, .num_layers = 3, .bidirectional = true, .dropout = dropout});
    EXPECT_EQ(storages_of(layer->parameters()).size(), 1U);
    const at::Tensor input = at::randn({4, 3, 5}, on_gpu());
    layer->forward(input).output.sum().backward();
    EXPECT_EQ(storages_of(gradients_of(*layer)).size(), dropout == 0 ? 1U : 3U);

    const auto storages = storages_of(layer->parameters());
    const at::NoGradGuard no_gradient;
    for (at::Tensor& parameter : layer->parameters()) parameter.sub_(parameter.grad(), 0.1);
    layer->forward(input);
    EXPECT_EQ(storages_of(layer->parameters()), storages) << "a step changes the values only";
    layer->to(at::kBFloat16);
    EXPECT_EQ(storages_of(layer->parameters()).size(), 1U);
  }
}

TEST_F(CudnnLayerOnGpu, TakesInAParameterWhoseMemoryWasReplaced) {
  const auto layer = layer_on_gpu({.input_size = 5, .hidden_size = 7});
  const at::Tensor input = at::randn({4, 3, 5}, on_gpu());
  layer->forward(input);
  at::Tensor bias = layer->named_parameters()["bias_hh_l0"];
  bias.set_data(bias.data() + 1);
  const auto naive = make_layer(LayerKind::kNaive, layer->options());
  naive->to(at::kCUDA);
  copy_weights(*layer, *naive);
  EXPECT_TRUE(at::allclose(layer->forward(input).output, naive->forward(input).output, 1e-4, 1e-5));
  EXPECT_EQ(storages_of(layer->parameters()).size(), 1U);
}

TEST_F(CudnnLayerOnGpu, NoticesWeightsThatChangeBeforeTheBackwardPass) {
  const auto layer = layer_on_gpu({.input_size = 5, .hidden_size = 7});
  const at::Tensor loss = layer->forward(at::randn({4, 3, 5}, on_gpu())).output.sum();
  {
    const at::NoGradGuard no_gradient;
    layer->parameters()[0].add_(1);
  }
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST_F(CudnnLayerOnGpu, GoesThroughAKeptGraphTwice) {
  const auto layer = layer_on_gpu({.input_size = 5, .hidden_size = 64});
  const at::Tensor loss = layer->forward(at::randn({4, 3, 5}, on_gpu())).output.sum();
  loss.backward({}, /*retain_graph=*/true);
  std::vector<at::Tensor> once;
  for (const at::Tensor& gradient : gradients_of(*layer)) once.push_back(gradient.clone());
  loss.backward();
  const auto twice = gradients_of(*layer);
  for (size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(at::allclose(twice[i], 2 * once[i])) << i;
}

TEST_F(CudnnLayerOnGpu, GivesTheInputsGradientWhereTheWeightsNeedNone) {
  const auto layer = layer_on_gpu({.input_size = 5, .hidden_size = 7});
  const at::Tensor input = at::randn({4, 3, 5}, on_gpu()).requires_grad_();
  layer->forward(input).output.sum().backward();
  const at::Tensor wanted = input.grad().clone();
  for (at::Tensor& parameter : layer->parameters()) parameter.requires_grad_(false);
  layer->zero_grad();
  input.mutable_grad().reset();
  layer->forward(input).output.sum().backward();
  EXPECT_TRUE(at::equal(input.grad(), wanted));
  for (const at::Tensor& gradient : gradients_of(*layer)) EXPECT_FALSE(gradient.defined());
}

TEST_F(CudnnLayerOnGpu, RepeatsItsDropoutFromTheSeed) {
  const RecurrentOptions options = {.input_size = 16, .hidden_size = 16, .num_layers = 3, .dropout = 0.5};
  const at::Tensor input = at::randn({6, 4, 16}, on_gpu());
  for (const LayerKind kind : {LayerKind::kFused, LayerKind::kCudnn}) {
    const auto first = make_layer(kind, options), second = make_layer(kind, options);
    first->to(at::kCUDA);
    second->to(at::kCUDA);
    copy_weights(*first, *second);
    at::manual_seed(3);
    const at::Tensor output = first->forward(input).output;
    at::manual_seed(3);
    EXPECT_TRUE(at::equal(second->forward(input).output, output)) << name_of(kind);
    EXPECT_FALSE(at::equal(second->forward(input).output, output)) << "each call has its own";
  }
}

TEST_F(CudnnLayerOnGpu, AutoMeasuresOnceAndKeepsTheAnswer) {
  const RecurrentOptions options = {.input_size = 64, .hidden_size = 64};
  const at::Tensor input = at::randn({9, 8, 64}, on_gpu());
  const auto step = [&](RecurrentLayer& layer) { layer.forward(input).output.sum().backward(); };
  const auto file = folder_.path() / "cudnn_algorithms.json";
  const auto first = layer_on_gpu(options), second = layer_on_gpu(options);
  EXPECT_FALSE(std::filesystem::exists(file));
  at::manual_seed(5);
  const at::Tensor drawn = at::rand({3}, on_gpu());
  at::manual_seed(5);
  const ExecutionPath measured = observe_execution_path([&] { step(*first); });
  EXPECT_TRUE(at::equal(at::rand({3}, on_gpu()), drawn)) << "measuring draws none of training's random numbers";
  EXPECT_THAT(measured.path, StartsWith("cuDNN called directly, "));
  EXPECT_THAT(measured.notes, ElementsAre(HasSubstr("auto measured")));
  const auto written = std::filesystem::last_write_time(file);
  const ExecutionPath kept = observe_execution_path([&] { step(*second); });
  EXPECT_EQ(kept.path, measured.path);
  EXPECT_EQ(kept.notes, measured.notes) << "the same times, from the file";
  EXPECT_EQ(std::filesystem::last_write_time(file), written);
}

TEST_F(CudnnLayerOnGpu, TellsItsPath) {
  RecurrentOptions options = {.input_size = 16, .hidden_size = 16, .cudnn_algorithm = CudnnAlgorithm::kSmallHidden};
  const auto layer = layer_on_gpu(options);
  const at::Tensor input = at::randn({6, 2, 16}, on_gpu());
  const auto path = [&](const at::Tensor& lengths = {}) {
    return observe_execution_path([&] { layer->forward(input, {}, lengths).output.sum().backward(); });
  };
  EXPECT_THAT(path().path, EndsWith("small-H algorithm (float32)"));
  EXPECT_THAT(path().notes, IsEmpty());
  EXPECT_THAT(path(at::tensor({6, 3}, at::kLong)).path, EndsWith(", standard algorithm (float32)"));
  EXPECT_THAT(path(at::tensor({6, 3}, at::kLong)).notes, ElementsAre(HasSubstr("standard algorithm only")));
  at::globalContext().setAllowTF32CuDNN(true);
  EXPECT_THAT(path().path, EndsWith("small-H algorithm (float32, TF32)"));
  const Autocast autocast(at::kCUDA);
  EXPECT_THAT(path().path, EndsWith("small-H algorithm (bfloat16)"));
}

// One forward and backward pass on the current stream, captured after three others; the results are read after replays.
struct CapturedStep {
  CapturedStep(RecurrentLayer& tested, const at::Tensor& input) : layer(tested) {
    for (int i = 0; i < 3; ++i) step(input);
    graph.capture_begin();
    step(input);
    graph.capture_end();
  }

  void step(const at::Tensor& input) {
    layer.zero_grad(/*set_to_none=*/true);
    output = layer.forward(input).output;
    output.sum().backward();
  }

  std::vector<at::Tensor> replayed() {
    graph.replay();
    std::vector<at::Tensor> results = {output.detach().clone()};
    for (const at::Tensor& gradient : gradients_of(layer)) results.push_back(gradient.clone());
    return results;
  }

  RecurrentLayer& layer;
  at::Tensor output;
  at::cuda::CUDAGraph graph;
};

TEST_F(CudnnLayerOnGpu, ReplaysInACudaGraphWhatItComputesWithoutOne) {
  for (const CudnnAlgorithm algorithm :
       {CudnnAlgorithm::kAuto, CudnnAlgorithm::kStandard, CudnnAlgorithm::kPersistStatic, CudnnAlgorithm::kSmallHidden})
    for (const at::ScalarType type : {at::kFloat, at::kHalf}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(algorithm), c10::toString(type)));
      const auto layer =
          layer_on_gpu({.input_size = 64, .hidden_size = 64, .num_layers = 2, .cudnn_algorithm = algorithm}, type);
      const at::Tensor input = at::randn({6, 16, 64}, on_gpu(type));
      if (!user_error_of([&] { layer->forward(input).output.sum().backward(); }).empty()) continue;
      const c10::cuda::CUDAStreamGuard stream(c10::cuda::getStreamFromPool());
      CapturedStep step(*layer, input);
      input.normal_();  // other numbers in the same memory
      const auto replayed = step.replayed();
      step.step(input);
      EXPECT_TRUE(at::equal(replayed[0], step.output));
      const auto gradients = gradients_of(*layer);
      for (size_t i = 0; i < gradients.size(); ++i) EXPECT_TRUE(at::equal(replayed[i + 1], gradients[i])) << i;
    }
}

TEST_F(CudnnLayerOnGpu, DrawsFreshDropoutAtEveryReplay) {
  for (const LayerKind kind : {LayerKind::kFused, LayerKind::kCudnn}) {
    const auto layer = make_layer(kind, {.input_size = 16, .hidden_size = 16, .num_layers = 2, .dropout = 0.5});
    layer->to(at::kCUDA);
    const at::Tensor input = at::randn({6, 4, 16}, on_gpu());
    const c10::cuda::CUDAStreamGuard stream(c10::cuda::getStreamFromPool());
    CapturedStep step(*layer, input);
    const at::Tensor first = step.replayed()[0];
    EXPECT_FALSE(at::equal(step.replayed()[0], first)) << name_of(kind);
  }
}

TEST_F(CudnnLayerOnGpu, SaysWhatACudaGraphCannotHold) {
  const auto layer = layer_on_gpu({.input_size = 5, .hidden_size = 7});
  const at::Tensor input = at::randn({4, 3, 5}, on_gpu()), lengths = at::tensor({4, 2, 1}, at::kLong);
  const c10::cuda::CUDAStreamGuard stream(c10::cuda::getStreamFromPool());
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  const std::string unknown = user_error_of([&] { layer->forward(input); });
  const std::string varied = user_error_of([&] { layer->forward(input, {}, lengths); });
  graph.capture_end();
  EXPECT_THAT(unknown, HasSubstr("of this shape first"));
  EXPECT_THAT(varied, HasSubstr("inside a CUDA graph"));
}

}  // namespace
}  // namespace rnnlab
