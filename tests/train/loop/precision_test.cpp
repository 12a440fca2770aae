// SPDX-License-Identifier: Apache-2.0
#include "train/loop/precision.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cstdlib>

#include "golden.h"
#include "train/loop/determinism.h"
#include "train/loop/toy.h"

namespace rnnlab {
namespace {

const at::Device kCpu(at::kCPU);

TEST(Precision, SetsCudnnAndCublasAlike) {
  const auto& context = at::globalContext();
  set_precision(Precision::kTf32);
  EXPECT_TRUE(context.allowTF32CuDNN() && context.allowTF32CuBLAS());
  for (const auto precision : {Precision::kFp32, Precision::kBf16}) {
    set_precision(precision);
    EXPECT_FALSE(context.allowTF32CuDNN() || context.allowTF32CuBLAS());
  }
}

TEST(Precision, LeavesNoMixOfOldAndNewSwitchesBehind) {
  set_precision(Precision::kTf32);
  const auto& context = at::globalContext();
  EXPECT_EQ(context.float32Precision(at::Float32Backend::CUDA, at::Float32Op::RNN), at::Float32Precision::TF32);
  EXPECT_EQ(context.float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL), at::Float32Precision::TF32);
  EXPECT_EQ(context.float32MatmulPrecision(), at::Float32MatmulPrecision::HIGH);
  set_precision(Precision::kFp32);
  EXPECT_NE(context.float32Precision(at::Float32Backend::CUDA, at::Float32Op::RNN), at::Float32Precision::TF32);
  EXPECT_EQ(context.float32MatmulPrecision(), at::Float32MatmulPrecision::HIGHEST);
}

constexpr Capability kHopper = {9, 0};
constexpr Capability kTuring = {7, 5};

TEST(Precision, TellsWhatReallyRuns) {
  expect_golden(effective_precision(Precision::kTf32, kCpu));
  EXPECT_EQ(effective_precision(Precision::kBf16, kCpu), "bf16");
  EXPECT_EQ(effective_precision(Precision::kFp32, kCpu), "fp32");
  for (const auto precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16}) {
    set_precision(precision);
    EXPECT_EQ(effective_precision_on_gpu(precision, kHopper), config::name_of(precision));
  }
}

TEST(Precision, TellsWhatAGpuHasNotGot) {
  set_precision(Precision::kTf32);
  expect_golden(effective_precision_on_gpu(Precision::kTf32, kTuring));
  set_precision(Precision::kBf16);
  expect_golden(effective_precision_on_gpu(Precision::kBf16, kTuring));
  EXPECT_EQ(effective_precision_on_gpu(Precision::kFp16, kTuring), "fp16");
  EXPECT_EQ(effective_precision_on_gpu(Precision::kFp32, kTuring), "fp32");
  set_precision(Precision::kFp32);
}

TEST(Precision, TellsOfSwitchesThatSomebodyElseSet) {
  auto& context = at::globalContext();
  set_precision(Precision::kFp32);
  context.setAllowTF32CuDNN(true);
  expect_golden(effective_precision_on_gpu(Precision::kFp32, kHopper));
  context.setAllowTF32CuBLAS(true);
  EXPECT_EQ(effective_precision_on_gpu(Precision::kFp32, kHopper), "tf32");
  EXPECT_EQ(effective_precision_on_gpu(Precision::kBf16, kHopper), "bf16 with tf32");
  context.setAllowTF32CuDNN(false);
  expect_golden(effective_precision_on_gpu(Precision::kFp32, kHopper));
  set_precision(Precision::kTf32);
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  expect_golden(effective_precision_on_gpu(Precision::kTf32, kHopper));
  unsetenv("NVIDIA_TF32_OVERRIDE");
  EXPECT_EQ(effective_precision_on_gpu(Precision::kTf32, kHopper), "tf32");
  set_precision(Precision::kFp32);
}

TEST(Precision, OfFloat16IsNotForTheCpu) {
  expect_golden(unsupported_on_cpu(Precision::kFp16));
  EXPECT_EQ(unsupported_on_cpu(Precision::kBf16), std::nullopt);
}

TEST(AutocastGuard, CastsProductsWhileItLives) {
  const auto square = at::ones({2, 2});
  {
    const AutocastGuard guard(Precision::kBf16, kCpu);
    EXPECT_EQ(at::matmul(square, square).scalar_type(), at::kBFloat16);
  }
  {
    const AutocastGuard guard(Precision::kFp16, kCpu);
    EXPECT_EQ(at::matmul(square, square).scalar_type(), at::kHalf);
  }
  EXPECT_EQ(at::matmul(square, square).scalar_type(), at::kFloat);
  const AutocastGuard guard(Precision::kTf32, kCpu);
  EXPECT_EQ(at::matmul(square, square).scalar_type(), at::kFloat);
}

TEST(AutocastGuard, ForgetsTheCastWeightsWhenItEnds) {
  auto weight = at::ones({2, 2}).requires_grad_();
  const auto product = [&] {
    const AutocastGuard guard(Precision::kBf16, kCpu);
    return at::matmul(weight, at::ones({2, 2})).sum().item<double>();
  };
  EXPECT_EQ(product(), 8.0);
  weight.detach().fill_(2.0);
  EXPECT_EQ(product(), 16.0);
}

TEST(Precision, Bf16TrainsFloat32Weights) {
  auto options = toy_options();
  options.settings.epochs = 6;
  options.settings.learning_rate = 0.03;
  options.precision = Precision::kBf16;
  const auto run = run_toy(toy_dataset(), options);
  EXPECT_LT(run.seen.rows.back().train_loss, run.seen.rows.front().train_loss - 0.1);
}

ToyRun deterministic_run(at::Device device, uint64_t seed) {
  set_determinism(Determinism::kOn);
  auto options = toy_options();
  options.device = device;
  options.seed = seed;
  auto run = run_toy(toy_dataset(), options, /*output_dropout=*/0.3);
  set_determinism(Determinism::kOff);
  return run;
}

void expect_bit_identical_runs(at::Device device) {
  const auto first = deterministic_run(device, 1);
  EXPECT_EQ(deterministic_run(device, 1).weights, first.weights);
  EXPECT_NE(deterministic_run(device, 2).weights, first.weights);
}

TEST(Determinism, GivesBitIdenticalWeightsOnTheCpu) { expect_bit_identical_runs(kCpu); }

TEST(Determinism, GivesBitIdenticalWeightsOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  set_environment_for_determinism();
  expect_bit_identical_runs(at::Device(at::kCUDA, 0));
}

TEST(Determinism, SwitchesBothWays) {
  const auto& context = at::globalContext();
  set_determinism(Determinism::kOn);
  EXPECT_TRUE(context.deterministicAlgorithms() && context.deterministicCuDNN() && context.deterministicMkldnn());
  EXPECT_FALSE(context.benchmarkCuDNN()) << "a benchmark may choose a different algorithm each time";
  set_determinism(Determinism::kOff);
  EXPECT_FALSE(context.deterministicAlgorithms() || context.deterministicCuDNN());
  EXPECT_TRUE(context.benchmarkCuDNN());
}

TEST(NumThreads, GoBackToTheDefaultWhereNothingIsGiven) {
  set_num_threads(std::nullopt);
  const int before = at::get_num_threads();
  set_num_threads(before + 1);
  EXPECT_EQ(at::get_num_threads(), before + 1);
  set_num_threads(std::nullopt);
  EXPECT_EQ(at::get_num_threads(), before);
  set_num_threads(1);
}

TEST(Determinism, KeepsACublasSettingThatTheUserMade) {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
  set_environment_for_determinism();
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":16:8");
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
  set_environment_for_determinism();
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
}

TEST(Trainer, LearnsOnAGpuAsOnTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  set_precision(Precision::kFp32);
  auto options = toy_options();
  const auto on_cpu = run_toy(toy_dataset(), options);
  options.device = at::Device(at::kCUDA, 0);
  const auto on_gpu = run_toy(toy_dataset(), options);
  for (size_t i = 0; i < on_cpu.seen.rows.size(); ++i) {
    EXPECT_NEAR(on_cpu.seen.rows[i].train_loss, on_gpu.seen.rows[i].train_loss, 1e-4);
  }
}

}  // namespace
}  // namespace rnnlab
