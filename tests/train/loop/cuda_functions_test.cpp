// SPDX-License-Identifier: Apache-2.0
#include "train/loop/cuda_functions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <stdexcept>

#include "base/expect_error.h"

namespace rnnlab {
namespace {

using ::testing::StartsWith;

TEST(CapturedWork, NeedsAGpu) {
  testing::expect_error(ExitCode::kDevice, [] { make_captured_work(c10::kCPU); });
}

class CapturedWorkOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
    counter_ = at::zeros({1}, at::TensorOptions(device_));
  }

  const c10::Device device_ = c10::Device(c10::kCUDA, 0);
  at::Tensor counter_;
};

TEST_F(CapturedWorkOnCuda, RunsAtEveryReplayAndNotWhileItIsCaptured) {
  const auto work = make_captured_work(device_);
  work->capture([&] { counter_.add_(1); });
  EXPECT_EQ(counter_.item<float>(), CapturedWork::kWarmupRuns);
  for (int i = 0; i < 4; ++i) work->replay();
  EXPECT_EQ(counter_.item<float>(), CapturedWork::kWarmupRuns + 4);
}

TEST_F(CapturedWorkOnCuda, ReadsItsInputsAtEveryReplay) {
  const at::Tensor input = at::zeros({1}, at::TensorOptions(device_));
  const auto work = make_captured_work(device_);
  work->capture([&] { counter_.copy_(input * 2); });
  input.fill_(21);
  work->replay();
  EXPECT_EQ(counter_.item<float>(), 42);
}

TEST_F(CapturedWorkOnCuda, DrawsFreshRandomNumbers) {
  at::Tensor drawn = at::zeros({64}, at::TensorOptions(device_));
  const auto work = make_captured_work(device_);
  work->capture([&] { drawn.uniform_(); });
  work->replay();
  const at::Tensor first = drawn.clone();
  work->replay();
  EXPECT_FALSE(drawn.equal(first));
}

TEST_F(CapturedWorkOnCuda, SharedMemoryServesBothInTurns) {
  const at::Tensor source = at::rand({1 << 20}, at::TensorOptions(device_));
  at::Tensor sum = at::zeros({}, at::TensorOptions(device_)), squares = sum.clone();
  const auto first = make_captured_work(device_);
  const auto second = make_captured_work(device_, first.get());
  first->capture([&] { sum.copy_((source * 2).sum()); });
  second->capture([&] { squares.copy_((source * source).sum()); });
  for (int i = 0; i < 3; ++i) {
    first->replay();
    second->replay();
  }
  EXPECT_NEAR(sum.item<double>(), (source * 2).sum().item<double>(), 1);
  EXPECT_NEAR(squares.item<double>(), (source * source).sum().item<double>(), 1);
}

void expect_no_capture(c10::Device device, const std::function<void()>& work, const char* reason) {
  const auto captured = make_captured_work(device);
  EXPECT_THAT(testing::message_of_error(ExitCode::kDevice, [&] { captured->capture(work); }), StartsWith(reason));
}

TEST_F(CapturedWorkOnCuda, WorkThatReadsFromTheDeviceIsRefusedAndTheNextIsCaptured) {
  expect_no_capture(
      device_, [&] { counter_.add_(counter_.item<float>()); }, "cannot be captured as a CUDA graph: ");
  const auto next = make_captured_work(device_);
  next->capture([&] { counter_.add_(1); });
  next->replay();
  EXPECT_EQ(counter_.item<float>(), CapturedWork::kWarmupRuns + 1);
}

TEST_F(CapturedWorkOnCuda, WorkThatThrowsWhileItIsCapturedIsRefusedWithItsReason) {
  int num_runs = 0;
  const auto work = [&] {
    counter_.add_(1);
    if (++num_runs > CapturedWork::kWarmupRuns) throw std::runtime_error("no more");
  };
  expect_no_capture(device_, work, "cannot be captured as a CUDA graph: no more");
  EXPECT_EQ((counter_ + 1).item<float>(), CapturedWork::kWarmupRuns + 1);
}

TEST_F(CapturedWorkOnCuda, WhatTheWarmUpThrowsPassesThrough) {
  const auto work = make_captured_work(device_);
  EXPECT_THROW(work->capture([] { throw std::runtime_error("no"); }), std::runtime_error);
}

}  // namespace
}  // namespace rnnlab
