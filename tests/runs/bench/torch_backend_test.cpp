// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/torch_backend.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tanh.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <set>
#include <stdexcept>

#include "base/expect_error.h"
#include "golden.h"
#include "layers/device/gpu_support.h"
#include "layers/on_cuda.h"
#include "layers/refusals.h"
#include "runs/bench/run_bench.h"
#include "runs/devices.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

BenchSettings tiny_settings() {
  BenchSettings settings;
  settings.device = {"cpu"};
  settings.hidden_size = {4};
  settings.batch_size = {2};
  settings.num_steps = {3};
  settings.num_layers = {1};
  settings.repeats = 2;
  settings.warmup = 0;
  settings.sample_seconds = 1e-6;
  return settings;
}

TEST(TorchBackend, TheCpuHasNoGraphsAndNoTf32) {
  BenchSettings settings = tiny_settings();
  settings.mode = {BenchMode::kGraph};
  TorchBackend backend(settings);
  expect_error(ExitCode::kUsage, [&] { backend.begin(expand_grid(settings).at(0)); });
  settings.mode = {BenchMode::kEager};
  settings.precision = {Precision::kTf32};
  expect_error(ExitCode::kUsage, [&] { backend.begin(expand_grid(settings).at(0)); });
}

TEST(TorchBackend, ADeviceThatIsNotThereIsADeviceError) {
  BenchSettings settings = tiny_settings();
  settings.device = {"cuda:99"};
  TorchBackend backend(settings);
  EXPECT_THAT(testing::message_of_error(ExitCode::kDevice, [&] { backend.begin(expand_grid(settings).at(0)); }),
              HasSubstr("device: got cuda:99, but "));
}

TEST(TorchBackend, CountsTheSecondsThatItComputes) {
  const BenchSettings settings = tiny_settings();
  TorchBackend backend(settings);
  backend.begin(expand_grid(settings).at(0));
  backend.begin_sampling();
  const SamplingRecord record = backend.end_sampling();
  EXPECT_GT(record.wall_seconds, 0);
  EXPECT_GT(record.cpu_seconds, 0);
}

TEST(TorchBackend, InspectsWhatALayerRan) {
  const BenchSettings settings = tiny_settings();
  TorchBackend backend(settings);
  backend.begin(expand_grid(settings).at(0));
  const LayerInspection seen = backend.inspect(LayerKind::kNaive);
  EXPECT_EQ(seen.path, "native loop, 8 GEMMs a step");
  EXPECT_THAT(seen.kernels, Not(IsEmpty()));
  EXPECT_GT(seen.peak_memory_bytes, 0);
}

class WholeBench : public ::testing::TestWithParam<std::pair<const char*, BenchMode>> {
 protected:
  void SetUp() override {
    if (GetParam().first != std::string("cpu") && !torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
  }
};

TEST_P(WholeBench, MeasuresEveryLayerThatDoesNotRefuse) {
  BenchSettings settings = tiny_settings();
  settings.device = {GetParam().first};
  settings.mode = {GetParam().second};
  settings.precision = {Precision::kFp32, Precision::kBf16};
  settings.layer = layer_kinds();
  TorchBackend backend(settings);
  const BenchOutcome outcome =
      run_bench(settings, backend, {.should_stop = [] { return false; }, .on_progress = [](const std::string&) {}});
  EXPECT_THAT(outcome.report.rows, SizeIs(2 * layer_kinds().size()));
  const c10::Device device = resolve_device(GetParam().first);
  for (const BenchRow& row : outcome.report.rows) {
    const auto kind = config::from_name<LayerKind>(row.key.layer).value();
    const auto reason =
        refusal_of(kind, work_on(device, {.options = RecurrentOptions{.input_size = 4, .hidden_size = 4}}));
    EXPECT_EQ(row.reason, reason.value_or("")) << row.key.layer << " " << row.key.precision;
    EXPECT_EQ(row.measurement.has_value(), !reason);
    EXPECT_EQ(row.path.empty(), reason.has_value());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, WholeBench,
                         ::testing::Values(std::pair{"cpu", BenchMode::kEager}, std::pair{"cuda", BenchMode::kEager},
                                           std::pair{"cuda", BenchMode::kGraph}),
                         [](const auto& test) {
                           return std::string(test.param.first) + "_" + std::string(config::name_of(test.param.second));
                         });

std::map<std::string, int64_t> counts(const std::vector<KernelUse>& uses) {
  std::map<std::string, int64_t> by_name;
  for (const KernelUse& use : uses) by_name[use.name] = use.count;
  return by_name;
}

TEST(KernelLog, NamesTheOperatorsOfTheCpu) {
  const at::Tensor a = at::rand({8, 8});
  const auto seen = counts(kernels_during(c10::kCPU, [&] {
    at::mm(a, a);
    at::mm(a, a);
    at::tanh(a);
  }));
  EXPECT_EQ(seen.at("aten::mm"), 2);
  EXPECT_EQ(seen.at("aten::tanh"), 1);
}

TEST(KernelLog, EndsWithAnExceptionAndCanBeUsedAgain) {
  EXPECT_THROW(kernels_during(c10::kCPU, [] { throw std::runtime_error("no"); }), std::runtime_error);
  const at::Tensor a = at::rand({8, 8});
  EXPECT_EQ(counts(kernels_during(c10::kCPU, [&] { at::tanh(a); })).at("aten::tanh"), 1);
}

TEST(KernelLog, NamesTheKernelsOfAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
  const c10::Device gpu(c10::kCUDA, 0);
  const at::Tensor a = at::rand({64, 64}, at::TensorOptions(gpu));
  const auto uses = kernels_during(gpu, [&] { at::tanh(a); });
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].count, 1);
  EXPECT_GT(uses[0].seconds, 0);
}

BenchCase small_combination() {
  return {.options = {.input_size = 3, .hidden_size = 4, .num_layers = 2}, .batch_size = 2, .num_steps = 5};
}

std::set<std::string> operators_of(TimedLayer& timed, Pass pass) {
  std::set<std::string> names;
  for (const KernelUse& use : kernels_during(c10::kCPU, [&] { timed.run(pass, 1); })) names.insert(use.name);
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
  EXPECT_EQ(first.initial.cell().sizes(), at::IntArrayRef({2, 2, 4}));
  EXPECT_EQ(first.output_gradient.sizes(), at::IntArrayRef({5, 2, 4}));
}

TEST(Problem, AGruHasNoCellState) {
  BenchCase combination = small_combination();
  combination.options.cell = Cell::kGru;
  EXPECT_FALSE(make_problem(combination, c10::kCPU, 1).initial.cell().defined());
}

TEST(TimedLayer, EachDoesMoreThanTheOneBefore) {
  const Problem problem = make_problem(small_combination(), c10::kCPU, 1);
  TimedLayer timed(problem, LayerKind::kFused, nullptr);
  const std::string backward = "MkldnnRnnLayerBackward0";
  const auto forward_only = operators_of(timed, Pass::kForward);
  EXPECT_THAT(operators_of(timed, Pass::kBackward), Contains(backward));
  EXPECT_THAT(operators_of(timed, Pass::kBackwardData), Contains(backward));
  EXPECT_THAT(forward_only, Contains("aten::mkldnn_rnn_layer"));
  EXPECT_THAT(forward_only, Not(Contains(backward)));
}

TEST(TimedLayer, OnlyTheLastComputesGradientsOfWeights) {
  const Problem problem = make_problem(small_combination(), c10::kCPU, 1);
  TimedLayer timed(problem, LayerKind::kNaive, nullptr);
  const auto products = [&](Pass pass) {
    int64_t count = 0;
    for (const KernelUse& use : kernels_during(c10::kCPU, [&] { timed.run(pass, 1); }))
      if (use.name == "aten::mm" || use.name == "aten::addmm") count += use.count;
    return count;
  };
  // 2 layers, 5 steps, 4 gates on two sides; then the gradient of each product's input, then that of its weight.
  EXPECT_EQ(products(Pass::kForward), 80);
  EXPECT_EQ(products(Pass::kBackwardData), 160);
  EXPECT_EQ(products(Pass::kBackward), 240);
}

TEST(TimedLayer, ALayerThatTheDeviceDoesNotHaveIsRefused) {
  const Problem problem = make_problem(small_combination(), c10::kCPU, 1);
  testing::expect_error(ExitCode::kUsage, refusal_of(LayerKind::kStreamed, Processor::kCpu).value(),
                        [&] { TimedLayer(problem, LayerKind::kStreamed, nullptr); });
}

class LayerProgramsOnCuda : public ::testing::TestWithParam<LayerKind> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
    if (const auto reason = refusal_of(GetParam(), work_on(c10::Device(c10::kCUDA, 0)))) GTEST_SKIP() << *reason;
  }
};

TEST_P(LayerProgramsOnCuda, GraphsOfAllProgramsRunInTurns) {
  BenchCase combination = small_combination();
  combination.device = "cuda";
  combination.mode = BenchMode::kGraph;
  const c10::Device device(c10::kCUDA, 0);
  const auto memory = make_captured_work(device);
  const Problem problem = make_problem(combination, device, 1);
  TimedLayer timed(problem, GetParam(), memory.get());
  for (int round = 0; round < 2; ++round)
    for (const Pass pass : kPasses) EXPECT_GT(timed.run(pass, 3), 0);
}

std::vector<LayerKind> kinds_for_gpus() {
  std::vector<LayerKind> kinds = layer_kinds();
  std::erase_if(kinds, [](LayerKind kind) {
    return refusal_of(kind, Processor::kGpu) || refusal_of(kind, small_combination().options);
  });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, LayerProgramsOnCuda, ::testing::ValuesIn(kinds_for_gpus()),
                         [](const auto& test) { return std::string(config::name_of(test.param)); });

constexpr int64_t kMegabyte = 1 << 20;

class StepMemory : public ::testing::TestWithParam<c10::DeviceType> {
 protected:
  void SetUp() override {
    if (GetParam() == c10::kCUDA && !torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
  }
  c10::Device device() const { return GetParam() == c10::kCPU ? c10::Device(c10::kCPU) : c10::Device(c10::kCUDA, 0); }
  at::Tensor allocate(int64_t bytes) const { return at::empty({bytes}, at::TensorOptions(device()).dtype(at::kByte)); }
};

TEST_P(StepMemory, IsTheMostThatIsHeldAtOnce) {
  const auto work = [&] {
    allocate(4 * kMegabyte);  // gone at once
    const at::Tensor first = allocate(2 * kMegabyte);
    const at::Tensor second = allocate(3 * kMegabyte);
  };
  EXPECT_EQ(peak_bytes_during(device(), work), 5 * kMegabyte);
}

TEST_P(StepMemory, WhatWasThereBeforeDoesNotCount) {
  const at::Tensor before = allocate(8 * kMegabyte);
  EXPECT_EQ(peak_bytes_during(device(), [&] { allocate(kMegabyte); }), kMegabyte);
}

INSTANTIATE_TEST_SUITE_P(Devices, StepMemory, ::testing::Values(c10::kCPU, c10::kCUDA));

TEST(Throttling, ClocksHeldDownAreSaid) {
  GpuSurvey survey;
  GpuInfo& gpu = survey.gpus.emplace_back();
  gpu.name = "NVIDIA H200";
  EXPECT_THAT(throttling(survey), IsEmpty());
  gpu.throttle_reasons = {"power cap"};
  gpu.sm_clock_mhz = 1200;
  gpu.max_sm_clock_mhz = 1980;
  expect_golden(texts_of(throttling(survey)));
}

}  // namespace
}  // namespace rnnlab
