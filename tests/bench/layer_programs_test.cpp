#include "bench/layer_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <set>

#include "bench/kernel_log.h"
#include "recurrent/on_cuda.h"
#include "results/expect_error.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::Not;

Combination small_combination() {
  return {.options = {.input_size = 3, .hidden_size = 4, .num_layers = 2}, .batch_size = 2, .num_steps = 5};
}

std::set<std::string> operators_of(LayerPrograms& programs, Program program) {
  std::set<std::string> names;
  for (const KernelUse& use : kernels_during(c10::kCPU, [&] { programs.run(program, 1); })) names.insert(use.name);
  return names;
}

TEST(Problem, IsTheSameForTheSameSeed) {
  const Problem first = make_problem(small_combination(), c10::kCPU, 1);
  const Problem same = make_problem(small_combination(), c10::kCPU, 1);
  const Problem other = make_problem(small_combination(), c10::kCPU, 2);
  EXPECT_TRUE(first.input.equal(same.input));
  EXPECT_TRUE(first.weights->parameters()[0].equal(same.weights->parameters()[0]));
  EXPECT_FALSE(first.input.equal(other.input));
  EXPECT_EQ(first.input.sizes(), at::IntArrayRef({5, 2, 3}));
  EXPECT_EQ(first.initial.cell.sizes(), at::IntArrayRef({2, 2, 4}));
  EXPECT_EQ(first.output_gradient.sizes(), at::IntArrayRef({5, 2, 4}));
}

TEST(Problem, AGruHasNoCellState) {
  Combination combination = small_combination();
  combination.options.cell = Cell::kGru;
  EXPECT_FALSE(make_problem(combination, c10::kCPU, 1).initial.cell.defined());
}

TEST(LayerPrograms, EachDoesMoreThanTheOneBefore) {
  const Problem problem = make_problem(small_combination(), c10::kCPU, 1);
  LayerPrograms programs(problem, LayerKind::kFused, nullptr);
  const std::string backward = "MkldnnRnnLayerBackward0";
  const auto forward_only = operators_of(programs, Program::kForward);
  EXPECT_THAT(operators_of(programs, Program::kAll), Contains(backward));
  EXPECT_THAT(operators_of(programs, Program::kForwardData), Contains(backward));
  EXPECT_THAT(forward_only, Contains("aten::mkldnn_rnn_layer"));
  EXPECT_THAT(forward_only, Not(Contains(backward)));
}

TEST(LayerPrograms, OnlyTheLastComputesGradientsOfWeights) {
  const Problem problem = make_problem(small_combination(), c10::kCPU, 1);
  LayerPrograms programs(problem, LayerKind::kNaive, nullptr);
  const auto products = [&](Program program) {
    int64_t count = 0;
    for (const KernelUse& use : kernels_during(c10::kCPU, [&] { programs.run(program, 1); }))
      if (use.name == "aten::mm" || use.name == "aten::addmm") count += use.count;
    return count;
  };
  // 2 layers, 5 steps, 4 gates on two sides; then the gradient of each product's input, then that of its weight.
  EXPECT_EQ(products(Program::kForward), 80);
  EXPECT_EQ(products(Program::kForwardData), 160);
  EXPECT_EQ(products(Program::kAll), 240);
}

TEST(LayerPrograms, ALayerThatTheDeviceDoesNotHaveIsRefused) {
  const Problem problem = make_problem(small_combination(), c10::kCPU, 1);
  testing::expect_error(ExitCode::kUsage, refusal(LayerKind::kStreamed, Processor::kCpu).value(),
                        [&] { LayerPrograms(problem, LayerKind::kStreamed, nullptr); });
}

class LayerProgramsOnCuda : public ::testing::TestWithParam<LayerKind> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
    if (const auto reason = refusal(GetParam(), c10::Device(c10::kCUDA, 0))) GTEST_SKIP() << *reason;
  }
};

TEST_P(LayerProgramsOnCuda, GraphsOfAllProgramsRunInTurns) {
  Combination combination = small_combination();
  combination.device = "cuda";
  combination.mode = BenchMode::kGraph;
  const c10::Device device(c10::kCUDA, 0);
  const auto memory = make_captured_work(device);
  const Problem problem = make_problem(combination, device, 1);
  LayerPrograms programs(problem, GetParam(), memory.get());
  for (int round = 0; round < 2; ++round)
    for (const Program program : kPrograms) EXPECT_GT(programs.run(program, 3), 0);
}

std::vector<LayerKind> kinds_for_gpus() {
  std::vector<LayerKind> kinds = layer_kinds();
  std::erase_if(kinds, [](LayerKind kind) {
    return refusal(kind, Processor::kGpu) || refusal(kind, small_combination().options);
  });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, LayerProgramsOnCuda, ::testing::ValuesIn(kinds_for_gpus()),
                         [](const auto& test) { return std::string(config::name_of(test.param)); });

}  // namespace
}  // namespace rnnlab
