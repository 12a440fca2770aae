// SPDX-License-Identifier: Apache-2.0
#include "results/device_scaling.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "golden.h"
#include "results/compared_runs.h"

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

// An epoch has 120,000 samples, and each device takes 64 samples of an update.
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
  expect_golden(scaling.notes);
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
  expect_error(ExitCode::kUsage, [] { scaling_of({run_of_devices(1, 2), run_of_devices(2, 1)}, {1}); });
}

void set_training(SampleRun& run, const std::string& setting) {
  run.config.replace(run.config.find("training:\n"), 10, "training:\n  " + setting + "\n");
}

TEST(DeviceScaling, RefusesWhatBearsOnTheSpeed) {
  void (*const changes[])(SampleRun&) = {[](SampleRun& run) { run.summary.layer = "naive"; },
                                         [](SampleRun& run) { run.summary.identity.precision = "tf32"; },
                                         [](SampleRun& run) { run.summary.identity.gpu_model = "Other GPU"; },
                                         [](SampleRun& run) { set_training(run, "cuda_graph: true"); },
                                         [](SampleRun& run) { set_training(run, "shards: 4"); },
                                         [](SampleRun& run) { run.summary.has_graphs = true; },
                                         [](SampleRun& run) { run.summary.identity.num_threads = 1; },
                                         [](SampleRun& run) {
                                           run.environment.ranks->each.resize(2);
                                           run.environment.ranks->each[0].cpu = "Abacus 1000";
                                           run.environment.ranks->each[1].cpu = "Abacus 2000";
                                         }};
  std::vector<std::string> reasons;
  for (const auto change : changes) {
    SampleRun one = run_of_equal_parts(1, 64, 4), two = run_of_equal_parts(2, 64, 2.5);
    one.environment.cpu.model = two.environment.cpu.model = "Abacus 1000";
    change(two);
    reasons.push_back(reasons_of_refusal([&] { scaling_of({one, two}, {1}); }));
  }
  expect_golden(reasons);
  SampleRun four = run_of_equal_parts(4, 64, 2);
  four.environment.ranks->exchange = "nccl";
  expect_golden(reasons_of_refusal([&] {
    scaling_of({run_of_equal_parts(1, 64, 4), run_of_equal_parts(2, 64, 2.5), four}, {1});
  }));
}

TEST(DeviceScaling, LetsALearningRateFollowTheBatch) {
  SampleRun two = run_of_equal_parts(2, 64, 2.5);
  set_training(two, "learning_rate: 0.002");
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
  expect_golden(device_scaling(runs, OnDifference::kRefuse).warnings);
}

TEST(DeviceScaling, IsForcedWithItsReasons) {
  SampleRun two = run_of_equal_parts(2, 64, 2.5);
  two.summary.layer = "naive";
  const DeviceScaling scaling = scaling_of({run_of_equal_parts(1, 64, 4), two}, {1}, OnDifference::kForce);
  EXPECT_THAT(scaling.forced, Contains(HasSubstr("layer: fused in ")));
  EXPECT_TRUE(
      device_scaling_text(scaling).starts_with("FORCED: the sides differ in more than what is compared.\n  layer: "));
}

TEST(DeviceScaling, IsATableThatFitsTheTerminal) {
  const DeviceScaling scaling = scaling_of({run_of_equal_parts(1, 64, 4), run_of_equal_parts(2, 64, 2.5)});
  expect_golden(device_scaling_text(scaling));
  const std::string narrow = device_scaling_text(scaling, 70);
  expect_golden(narrow);
  for (const std::string& line : split(narrow.substr(0, narrow.find("left out")), '\n'))
    EXPECT_LE(display_width(line), 70u) << line;
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

// ---- devices of a run ----

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

// These runs are from a version that did not record it.
TEST(Devices, AreThoseOfTheSettingsIfTheEnvironmentDoesNotRecordThem) {
  SampleRun run = run_of_devices(4, 1);
  run.environment.ranks.reset();
  EXPECT_EQ(num_devices(record_of(run)), 4);
  EXPECT_EQ(exchange_engine(record_of(run)), "");
}

TEST(Devices, AreAllThatDiffers) {
  const RunRecord one = record_of(run_of_devices(1, 2));
  EXPECT_TRUE(differ_only_in_devices(one, record_of(run_of_devices(2, 1))));
  EXPECT_FALSE(differ_only_in_devices(one, one)) << "they do not differ";
  // An absent number of devices means one.
  EXPECT_TRUE(
      differ_only_in_devices(record_of(sample_run("cpu", "fused", 1, {9, 1})), record_of(run_of_devices(2, 1))));
}

TEST(Devices, AreNotAllThatDiffers) {
  const RunRecord one = record_of(run_of_devices(1, 2));
  const auto differ = [&](const std::function<void(SampleRun&)>& change) {
    SampleRun run = run_of_devices(2, 1);
    change(run);
    return differ_only_in_devices(one, record_of(run));
  };
  EXPECT_FALSE(differ([](SampleRun& run) { run.summary.layer = "naive"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.summary.device = "cuda:0"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.summary.identity.precision = "tf32"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { set_training(run, "shards: 2"); }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.config += "deterministic: true\n"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.environment.software.program = "PyTorch 2.11.0"; }));
  EXPECT_FALSE(differ([](SampleRun& run) { run.summary.warnings.emplace_back(warning::kDevicesChanged, "changed"); }));
  EXPECT_TRUE(differ([](SampleRun& run) { run.config += "distributed: {timeout: 5}\n"; }));
}

TEST(Devices, OfTwoEnginesAreNotAlike) {
  SampleRun other = run_of_devices(4, 1);
  other.environment.ranks->exchange = "nccl";
  EXPECT_FALSE(differ_only_in_devices(record_of(run_of_devices(2, 1)), record_of(other)));
}

TEST(Devices, ShareTheThreadsOfOneProcess) {
  const auto with_threads = [](int64_t devices, int64_t threads) {
    SampleRun run = run_of_devices(devices, 1);
    run.summary.identity.num_threads = run.environment.num_threads = threads;
    return record_of(run);
  };
  EXPECT_TRUE(have_equal_total_threads(with_threads(1, 16), with_threads(2, 8)));
  EXPECT_TRUE(have_equal_total_threads(with_threads(1, 16), with_threads(3, 5))) << "16 cannot be divided by 3";
  EXPECT_TRUE(have_equal_total_threads(with_threads(4, 1), with_threads(1, 2))) << "none has less than one";
  EXPECT_FALSE(have_equal_total_threads(with_threads(1, 16), with_threads(2, 4)));
  EXPECT_FALSE(have_equal_total_threads(with_threads(2, 8), with_threads(2, 9))) << "as many processes";
}

// ---- speed-up of a comparison ----

class DeviceSpeedTest : public ::testing::Test {
 protected:
  Comparison compared(const std::vector<SampleRun>& runs, const std::vector<double>& slowness = kFiveRounds,
                      const std::string& baseline = "") {
    const TemporaryFolder folder;
    return compare(in_rounds(runs, slowness, folder), {.baseline = baseline});
  }
};

TEST_F(DeviceSpeedTest, IsTheRatioTurnedRoundWithItsInterval) {
  SampleRun two = run_of_devices(2, 1.25);
  two.train_seconds = {9, 1.2, 1.25, 1.3};
  const Comparison comparison = compared({run_of_devices(1, 2), two});
  EXPECT_FALSE(comparison.groups[0].device_speed);
  const GroupResult& group = comparison.groups[1];
  EXPECT_EQ(group.devices, 2);
  const DeviceSpeed& speed = group.device_speed.value();
  EXPECT_EQ(speed.reference, comparison.baseline);
  EXPECT_EQ(speed.reference_devices, 1);
  EXPECT_DOUBLE_EQ(speed.speed_up, 1 / *group.ratio);
  EXPECT_NEAR(speed.speed_up, 1.6, 1e-12);
  EXPECT_EQ(*speed.speed_up_low, 1 / *group.ratio_high);
  EXPECT_EQ(*speed.speed_up_high, 1 / *group.ratio_low);
  EXPECT_NEAR(*speed.efficiency, 0.8, 1e-12);
  EXPECT_EQ(*speed.efficiency_low, *speed.speed_up_low / 2);
  EXPECT_EQ(*speed.efficiency_high, *speed.speed_up_high / 2);
}

TEST_F(DeviceSpeedTest, HasNoIntervalWithFewerThanThreeProcesses) {
  const DeviceSpeed speed =
      compared({run_of_devices(1, 2), run_of_devices(2, 1.25)}, {1, 1.1}).groups[1].device_speed.value();
  EXPECT_NEAR(speed.speed_up, 1.6, 1e-12);
  EXPECT_FALSE(speed.speed_up_low);
  EXPECT_FALSE(speed.efficiency_high);
}

TEST_F(DeviceSpeedTest, IsAgainstTheFewestDevicesWhateverTheBaseline) {
  const auto groups =
      compared({run_of_devices(2, 2), run_of_devices(4, 1.25), run_of_devices(8, 1)}, {1}, "cpu fused devices=8")
          .groups;
  EXPECT_FALSE(groups[0].device_speed);
  EXPECT_EQ(groups[1].device_speed->reference_devices, 2);
  EXPECT_NEAR(groups[1].device_speed->efficiency.value(), 0.8, 1e-12);
  EXPECT_NEAR(groups[2].device_speed->efficiency.value(), 0.5, 1e-12) << "four times as many devices, twice as fast";
}

TEST_F(DeviceSpeedTest, IsOfEachLayerApart) {
  SampleRun naive_on_one = run_of_devices(1, 8), naive_on_two = run_of_devices(2, 5);
  for (SampleRun* run : {&naive_on_one, &naive_on_two}) {
    run->summary.layer = "naive";
    run->config.replace(run->config.find("layer: fused"), 12, "layer: naive");
  }
  const auto groups = compared({naive_on_one, naive_on_two, run_of_devices(1, 2), run_of_devices(2, 1)}, {1}).groups;
  EXPECT_NEAR(groups[1].device_speed->speed_up, 1.6, 1e-12);
  EXPECT_FALSE(groups[2].device_speed);
  EXPECT_NEAR(groups[3].device_speed->speed_up, 2, 1e-12);
}

TEST_F(DeviceSpeedTest, HasNoEfficiencyWhereProcessesShareTheThreadsOfOne) {
  SampleRun two = run_of_devices(2, 1.25);
  two.summary.identity.num_threads = two.environment.num_threads = 1;
  const Comparison comparison = compared({run_of_devices(1, 2), two});
  EXPECT_NEAR(comparison.groups[1].device_speed->speed_up, 1.6, 1e-12);
  EXPECT_FALSE(comparison.groups[1].device_speed->efficiency);
  expect_golden(comparison.notes);
}

TEST_F(DeviceSpeedTest, IsNotClaimedOfARunWhoseDevicesChanged) {
  SampleRun two = run_of_devices(2, 1.25);
  two.summary.warnings.emplace_back(warning::kDevicesChanged, "changed");
  const Comparison comparison = compared({run_of_devices(1, 2), two});
  EXPECT_FALSE(comparison.groups[1].device_speed);
  EXPECT_THAT(kinds_of(comparison.warnings), ::testing::ElementsAre(warning::kDevicesChanged));
}

// Unequal numbers of threads are the most common reason for a wrong efficiency.
TEST_F(DeviceSpeedTest, IsRefusedIfMoreDiffersThanTheDevices) {
  const auto on_gpus = [](int64_t devices, std::optional<bool> has_graphs) {
    SampleRun run = run_of_devices(devices, 2);
    run.summary.device = "cuda:0";
    set_training(run, "cuda_graph: true");
    run.summary.has_graphs = has_graphs;
    return run;
  };
  EXPECT_TRUE(compared({on_gpus(1, true), on_gpus(2, true)}).groups[1].device_speed);
  SampleRun threads = run_of_devices(2, 1.25), cut = threads, nccl = run_of_devices(4, 1);
  threads.summary.identity.num_threads = threads.environment.num_threads = 8;
  set_training(cut, "shards: 2");
  nccl.environment.ranks->exchange = "nccl";
  std::vector<std::string> reasons;
  for (const auto& [fewer, more] : {std::pair(run_of_devices(1, 2), threads),
                                    {run_of_devices(1, 2), cut},
                                    {run_of_devices(2, 2), nccl},
                                    {on_gpus(1, true), on_gpus(2, false)},
                                    {run_of_equal_parts(1, 64, 2), run_of_equal_parts(2, 64, 2)}})
    reasons.push_back(reasons_of_refusal([&] { compared({fewer, more}); }));
  expect_golden(reasons);
}

TEST_F(DeviceSpeedTest, WarnsOfAStraggler) {
  const TemporaryFolder folder;
  std::vector<RunRecord> runs = in_rounds({run_of_devices(1, 2), run_of_devices(2, 1)}, {1}, folder);
  for (EpochRow& row : runs[1].rows) {
    row.slowest_process_seconds = 0.9;
    row.fastest_process_seconds = 0.6;
    row.exchange_seconds = 0.1;
  }
  const Comparison comparison = compare(runs, {});
  EXPECT_NEAR(comparison.groups[1].slowest_over_fastest.value(), 1.5, 1e-12);
  EXPECT_NEAR(comparison.groups[1].exchange_share.value(), 0.1, 1e-12);
  expect_golden(texts_of(comparison.warnings));
}

}  // namespace
}  // namespace rnnlab::testing
