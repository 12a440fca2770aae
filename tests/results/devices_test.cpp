#include "results/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/sample_devices.h"

namespace rnnlab::testing {
namespace {

RunRecord record_of(const SampleRun& run) {
  const TemporaryFolder folder;
  return in_rounds({run}, {1}, folder).at(0);
}

TEST(Devices, OfARunAreItsProcesses) {
  EXPECT_EQ(num_devices(record_of(sample_run("cpu", "fused", 1, {9, 1}))), 1);
  const RunRecord run = record_of(run_of_devices(4, 1));
  EXPECT_EQ(num_devices(run), 4);
  EXPECT_EQ(exchange_engine(run), "gloo");
  EXPECT_EQ(samples_a_device(run), 32);
}

// As runs of before it was recorded.
TEST(Devices, AreThoseOfTheSettingsWhereTheEnvironmentDoesNotTell) {
  SampleRun run = run_of_devices(4, 1);
  run.environment.ranks.reset();
  EXPECT_EQ(num_devices(record_of(run)), 4);
  EXPECT_EQ(exchange_engine(record_of(run)), "");
}

TEST(Devices, AreAllThatDiffers) {
  const RunRecord one = record_of(run_of_devices(1, 2));
  EXPECT_TRUE(differ_in_devices_alone(one, record_of(run_of_devices(2, 1))));
  EXPECT_FALSE(differ_in_devices_alone(one, one)) << "they do not differ";
  // Absent is one.
  EXPECT_TRUE(
      differ_in_devices_alone(record_of(sample_run("cpu", "fused", 1, {9, 1})), record_of(run_of_devices(2, 1))));
}

TEST(Devices, AreNotAllThatDiffers) {
  const RunRecord one = record_of(run_of_devices(1, 2));
  const auto differ = [&](const std::function<void(SampleRun&)>& change) {
    SampleRun run = run_of_devices(2, 1);
    change(run);
    return differ_in_devices_alone(one, record_of(run));
  };
  EXPECT_FALSE(differ([](SampleRun& run) { run.summary.layer = "naive"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.summary.device = "cuda:0"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.summary.identity.precision = "tf32"; }));
  EXPECT_FALSE(differ([](SampleRun& run) {
    run.config.replace(run.config.find("batch_size: 128"), 15, "batch_size: 128\n  shards: 2");
  }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.config += "deterministic: true\n"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.environment.software.program = "PyTorch 2.11.0"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.summary.warnings.emplace_back(warning::kDevicesChanged, "changed"); }));
  EXPECT_TRUE(differ([](SampleRun& run) { run.config += "distributed: {timeout: 5}\n"; }));
}

TEST(Devices, OfTwoEnginesAreNotAlike) {
  SampleRun other = run_of_devices(4, 1);
  other.environment.ranks->exchange = "nccl";
  EXPECT_FALSE(differ_in_devices_alone(record_of(run_of_devices(2, 1)), record_of(other)));
}

TEST(Devices, ShareTheThreadsOfOneProcess) {
  const auto with_threads = [](int64_t devices, int64_t threads) {
    SampleRun run = run_of_devices(devices, 1);
    run.summary.identity.num_threads = run.environment.num_threads = threads;
    return record_of(run);
  };
  EXPECT_TRUE(share_equal_threads(with_threads(1, 16), with_threads(2, 8)));
  EXPECT_TRUE(share_equal_threads(with_threads(1, 16), with_threads(3, 5))) << "16 cannot be divided by 3";
  EXPECT_TRUE(share_equal_threads(with_threads(4, 1), with_threads(1, 2))) << "none has less than one";
  EXPECT_FALSE(share_equal_threads(with_threads(1, 16), with_threads(2, 4)));
  EXPECT_FALSE(share_equal_threads(with_threads(2, 8), with_threads(2, 9))) << "as many processes";
}

}  // namespace
}  // namespace rnnlab::testing
