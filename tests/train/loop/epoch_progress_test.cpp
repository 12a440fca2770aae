// SPDX-License-Identifier: Apache-2.0
#include "train/loop/epoch_progress.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <chrono>
#include <vector>

#include "train/loop/toy.h"
#include "train/ranks/fake_ranks.h"

namespace rnnlab {
namespace {

// Returns the row of an epoch of 10 s with this time in the exchange.
EpochRow row_with(double exchange_seconds) {
  EpochRow row;
  row.epoch = 4;
  row.train_loss = 0.5;
  row.train_seconds = 10;
  row.exchange_seconds = exchange_seconds;
  return row;
}

TEST(RowOverRanks, HasTheTimesOfTheSlowest) {
  std::vector<EpochRow> rows = {row_with(3), row_with(1), row_with(2)};
  rows[1].train_seconds = 9.875;  // it began a little later
  rows[1].data_seconds = 0.25;
  rows[1].samples_per_second = 100;
  rows[1].boot_seconds = 9.876;
  rows[1].voluntary_switches = 77;
  const EpochRow row = combined_row(rows[0], rows);
  EXPECT_EQ(row.train_seconds, 9.875);
  EXPECT_EQ(row.exchange_seconds, 1);
  EXPECT_EQ(row.slowest_process_seconds, 8.875);
  EXPECT_EQ(row.fastest_process_seconds, 7);
  EXPECT_EQ(row.data_seconds, 0.25);
  EXPECT_EQ(row.samples_per_second, 100);
  EXPECT_EQ(row.boot_seconds, 9.876);
  EXPECT_EQ(row.voluntary_switches, 77);
  EXPECT_FALSE(row.device_seconds);
}

TEST(RowOverRanks, KeepsTheOwnLossesAndMetrics) {
  std::vector<EpochRow> rows = {row_with(3), row_with(1)};
  rows[1].train_loss = 7;
  rows[0].valid_loss = 0.25;
  const EpochRow row = combined_row(rows[0], rows);
  EXPECT_EQ(row.epoch, 4);
  EXPECT_EQ(row.train_loss, 0.5);
  EXPECT_EQ(row.valid_loss, 0.25);
}

TEST(RowOverRanks, ComparesWholeEpochsWhereTheExchangeWasNotMeasured) {
  std::vector<EpochRow> rows = {row_with(0), row_with(0)};
  for (EpochRow& row : rows) row.exchange_seconds.reset();
  rows[1].train_seconds = 11;
  const EpochRow row = combined_row(rows[0], rows);
  EXPECT_EQ(row.train_seconds, 11);
  EXPECT_FALSE(row.exchange_seconds);
  EXPECT_EQ(row.slowest_process_seconds, 11);
  EXPECT_EQ(row.fastest_process_seconds, 10);
}

TEST(RowOverRanks, HasTheLargestMemoryAndTheEnergyOfAll) {
  std::vector<EpochRow> rows = {row_with(3), row_with(1)};
  rows[0].peak_memory_bytes = 2048;
  rows[1].peak_memory_bytes = 1024;
  rows[0].gpu_joules = 30;
  rows[1].gpu_joules = 12;
  EXPECT_EQ(combined_row(rows[0], rows).peak_memory_bytes, 2048);
  EXPECT_EQ(combined_row(rows[0], rows).gpu_joules, 42);
  rows[1].gpu_joules.reset();
  EXPECT_FALSE(combined_row(rows[0], rows).gpu_joules) << "one rank has no measurement";
}

// The second of two ranks, after the first rank has sent its numbers.
class SecondRank : public FakeRanks {
 public:
  SecondRank() : FakeRanks(1, 2) {}
  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    if (!first_.defined()) first_ = values;
    all.copy_(at::stack({first_, values}));
  }

 private:
  at::Tensor first_;
};

TEST(RowOverRanks, IsWhatEveryRankTells) {
  EpochRow first = row_with(3), own = row_with(1);
  first.cpu_seconds = 6.5;
  own.peak_memory_bytes = int64_t{1} << 40;
  first.peak_memory_bytes = 1;
  SecondRank ranks;
  row_over_ranks(ranks, first);
  const EpochRow row = row_over_ranks(ranks, own);
  EXPECT_EQ(row.train_seconds, 10);
  EXPECT_EQ(row.slowest_process_seconds, 9);
  EXPECT_EQ(row.fastest_process_seconds, 7);
  EXPECT_EQ(row.peak_memory_bytes, int64_t{1} << 40);
  EXPECT_FALSE(row.cpu_seconds) << "the slowest rank has no measurement";
}

TEST(DeviceTimer, IsNothingOnACpu) {
  DeviceTimer timer{c10::Device(c10::kCPU)};
  timer.start();
  timer.stop();
  EXPECT_EQ(timer.seconds(), std::nullopt);
}

// A timer without synchronisation would measure only the time in which the host queues the work.
TEST(DeviceTimer, CountsWhatTheHostDidNotWaitFor) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const c10::Device gpu(c10::kCUDA, 0);
  const auto square = at::rand({4096, 4096}, gpu);
  at::matmul(square, square);
  torch::cuda::synchronize();
  DeviceTimer timer(gpu);
  const auto began = std::chrono::steady_clock::now();
  timer.start();
  for (int i = 0; i < 50; ++i) at::matmul(square, square);
  timer.stop();
  const std::chrono::duration<double> queued = std::chrono::steady_clock::now() - began;
  EXPECT_GT(timer.seconds().value(), 2 * queued.count());
}

TEST(Trainer, HasTheTimeOfItsEpochsFromTheGpuToo) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const bool graphs : {false, true}) {
    auto options = toy_options();
    options.device = c10::Device(c10::kCUDA, 0);
    options.settings.cuda_graph = graphs;
    const auto run = run_toy(toy_dataset(4096), options);
    const EpochRow& row = run.seen.rows.back();
    EXPECT_NEAR(row.device_seconds.value(), row.train_seconds, row.train_seconds / 2);
  }
}

TEST(Trainer, HasNoOtherClockOnACpu) {
  EXPECT_FALSE(run_toy(toy_dataset(), toy_options()).seen.rows.back().device_seconds.has_value());
}

}  // namespace
}  // namespace rnnlab
