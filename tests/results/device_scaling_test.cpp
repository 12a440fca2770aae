#include "results/device_scaling.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/expect_error.h"
#include "base/text.h"
#include "results/sample_devices.h"

namespace rnnlab::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceScaling scaling_of(const std::vector<SampleRun>& runs, const std::vector<double>& slowness = kFiveRounds,
                         OnDifference on_difference = OnDifference::kRefuse) {
  const TemporaryFolder folder;
  return device_scaling(in_rounds(runs, slowness, folder), on_difference);
}

void expect_refused(const std::vector<SampleRun>& runs, const std::string& reason) {
  expect_error(ExitCode::kUsage,
               "these runs differ in more than their devices and the batch that these share:\n  " + reason +
                   "\nRun them again under equal conditions, or use --force to compare anyway",
               [&] { scaling_of(runs, {1}); });
}

// 120,000 samples an epoch, 64 samples a device.
TEST(DeviceScaling, IsTheThroughputOfADeviceOverThatOfTheFewest) {
  const DeviceScaling scaling =
      scaling_of({run_of_equal_parts(1, 64, 4), run_of_equal_parts(2, 64, 2.5), run_of_equal_parts(4, 64, 2)});
  ASSERT_EQ(scaling.series.size(), 1u);
  EXPECT_EQ(scaling.series[0].samples_a_device, 64);
  const auto& results = scaling.series[0].results;
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[1].devices, 2);
  EXPECT_EQ(results[1].batch_size, 128);
  EXPECT_EQ(results[1].num_processes, 5);
  EXPECT_FALSE(results[0].efficiency);
  EXPECT_NEAR(results[1].efficiency.value(), 0.8, 1e-9);
  EXPECT_NEAR(results[2].efficiency.value(), 0.5, 1e-9);
  EXPECT_NEAR(results[2].samples_per_second.value() / 4, results[2].samples_per_second_of_device.value(), 1e-9);
  EXPECT_TRUE(results[1].is_paired);
  EXPECT_NEAR(results[1].efficiency_low.value(), 0.8, 1e-9) << "what slows down a round cancels";
  EXPECT_THAT(texts_of(scaling.warnings), IsEmpty());
  EXPECT_THAT(scaling.notes,
              Contains("these runs did not train the same, because the batch of an update differs: 64 samples on 1 "
                       "device, 128 on 2 and 256 on 4; so their losses are not compared"));
}

TEST(DeviceScaling, HasNoIntervalWithFewerThanThreeProcesses) {
  const auto results =
      scaling_of({run_of_equal_parts(1, 64, 4), run_of_equal_parts(2, 64, 2.5)}, {1, 1.1}).series[0].results;
  EXPECT_NEAR(results[1].efficiency.value(), 0.8, 1e-9);
  EXPECT_FALSE(results[1].efficiency_low);
}

TEST(DeviceScaling, HasASeriesForEachBatchOfADevice) {
  const DeviceScaling scaling = scaling_of({run_of_equal_parts(1, 64, 4), run_of_equal_parts(2, 64, 2.5),
                                            run_of_equal_parts(1, 32, 5), run_of_equal_parts(2, 32, 4)});
  ASSERT_EQ(scaling.series.size(), 2u);
  EXPECT_EQ(scaling.series[0].samples_a_device, 32);
  EXPECT_NEAR(scaling.series[0].results[1].efficiency.value(), 0.625, 1e-9);
  EXPECT_NEAR(scaling.series[1].results[1].efficiency.value(), 0.8, 1e-9);
}

TEST(DeviceScaling, NeedsTwoNumbersOfDevices) {
  expect_error(ExitCode::kUsage,
               "--scaling: no two of these runs have equal batches per device (training.batch_size over devices) on "
               "different numbers of devices; train such runs, or compare these without --scaling",
               [] {
                 scaling_of({run_of_devices(1, 2), run_of_devices(2, 1)}, {1});
               });
}

TEST(DeviceScaling, RefusesWhatBearsOnTheSpeed) {
  const SampleRun one = run_of_equal_parts(1, 64, 4);
  const auto expect = [&](const std::function<void(SampleRun&)>& change, const std::string& what,
                          const std::string& first, const std::string& second) {
    SampleRun two = run_of_equal_parts(2, 64, 2.5);
    change(two);
    const TemporaryFolder folder;
    try {
      device_scaling(in_rounds({one, two}, {1}, folder), OnDifference::kRefuse);
      FAIL() << what;
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("\n  " + what + ": " + first + " in "));
      EXPECT_THAT(error.what(), HasSubstr(", " + second + " in "));
    }
  };
  expect([](SampleRun& run) { run.summary.layer = "naive"; }, "layer", "fused", "naive");
  expect([](SampleRun& run) { run.summary.identity.precision = "tf32"; }, "precision", "fp32", "tf32");
  expect([](SampleRun& run) { run.summary.identity.gpu_model = "Other GPU"; }, "hardware (GPU)", "Some GPU",
         "Other GPU");
  expect(
      [](SampleRun& run) { run.config.replace(run.config.find("training:\n"), 10, "training:\n  cuda_graph: true\n"); },
      "training.cuda_graph", "absent", "true");
  expect([](SampleRun& run) { run.config.replace(run.config.find("training:\n"), 10, "training:\n  shards: 4\n"); },
         "training.shards", "absent", "4");
  expect([](SampleRun& run) { run.summary.has_graphs = true; }, "CUDA graphs", "not used", "used");
  expect([](SampleRun& run) { run.summary.identity.num_threads = 1; }, "threads of a process (training.num_threads)",
         "2", "1");
}

TEST(DeviceScaling, RefusesTwoEngines) {
  SampleRun four = run_of_equal_parts(4, 64, 2);
  four.environment.ranks->exchange = "nccl";
  expect_refused({run_of_equal_parts(1, 64, 4), run_of_equal_parts(2, 64, 2.5), four},
                 "engine of the exchange: gloo in cpu fused devices=2 batch_size=128, nccl in cpu fused devices=4 "
                 "batch_size=256");
}

TEST(DeviceScaling, LetsALearningRateFollowTheBatch) {
  SampleRun two = run_of_equal_parts(2, 64, 2.5);
  two.config.replace(two.config.find("training:\n"), 10, "training:\n  learning_rate: 0.002\n");
  EXPECT_EQ(scaling_of({run_of_equal_parts(1, 64, 4), two}, {1}).series[0].results.size(), 2u);
}

TEST(DeviceScaling, WarnsOfAnotherMachineAndOfMissingRounds) {
  SampleRun one = run_of_equal_parts(1, 64, 4), two = run_of_equal_parts(2, 64, 2.5);
  one.environment.host.machine_id = "one";
  two.environment.host.machine_id = "another";
  const TemporaryFolder folder;
  std::vector<RunRecord> runs = in_rounds({one, two}, kFiveRounds, folder);
  runs.pop_back();
  for (size_t i = 0; i < runs.size(); ++i) runs[i].started = fmt::format("2026-11-21T{:02}:00:00Z", i);
  const std::vector<std::string> warnings = texts_of(device_scaling(runs, OnDifference::kRefuse).warnings);
  EXPECT_THAT(warnings, Contains(HasSubstr("machine: one in ")));
  EXPECT_THAT(warnings, Contains(HasSubstr("no run of round 5 of the measurement")));
}

TEST(DeviceScaling, IsForcedWithItsReasons) {
  SampleRun two = run_of_equal_parts(2, 64, 2.5);
  two.summary.layer = "naive";
  const DeviceScaling scaling = scaling_of({run_of_equal_parts(1, 64, 4), two}, {1}, OnDifference::kForce);
  EXPECT_THAT(scaling.forced, Contains(HasSubstr("layer: fused in ")));
  EXPECT_TRUE(device_scaling_text(scaling).starts_with("FORCED: this is not a fair comparison.\n  layer: "));
}

TEST(DeviceScaling, IsATable) {
  const std::string text =
      device_scaling_text(scaling_of({run_of_equal_parts(1, 64, 4), run_of_equal_parts(2, 64, 2.5)}));
  EXPECT_THAT(text, HasSubstr("64 samples a device in each update:\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "devices=2 batch_size=128 +2 +128 +5 +15 +[0-9.]+ +[0-9.]+ +80.0 % +80.0 .. 80.0 %"));
}

TEST(DeviceScaling, IsCsvAndJson) {
  const DeviceScaling scaling = scaling_of({run_of_equal_parts(1, 64, 4), run_of_equal_parts(2, 64, 2.5)}, {1});
  const std::vector<std::string> lines = split(device_scaling_csv(scaling), '\n');
  EXPECT_TRUE(lines.at(0).starts_with("samples_a_device,label,devices,batch_size,num_processes,num_timed_epochs,"));
  EXPECT_TRUE(lines.at(2).starts_with("64,cpu fused devices=2 batch_size=128,2,128,1,3,48000,24000,0.8,,,0,"));
  const auto json = nlohmann::json::parse(device_scaling_json(scaling));
  EXPECT_EQ(json["schema_version"], 3);
  EXPECT_EQ(json["series"][0]["samples_a_device"], 64);
  EXPECT_EQ(json["series"][0]["results"][1]["efficiency"], 0.8);
  EXPECT_TRUE(json["series"][0]["results"][0]["efficiency"].is_null());
}

}  // namespace
}  // namespace rnnlab::testing
