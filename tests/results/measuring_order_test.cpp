// SPDX-License-Identifier: Apache-2.0
#include "results/measuring_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "golden.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- one side after the other ----

RunGroup started_at(std::vector<RunRecord>& runs, const char* label, const std::vector<std::string>& starts) {
  for (const std::string& start : starts) runs.emplace_back().started = start;
  RunGroup group = group_of(runs);
  group.label = label;
  return group;
}

TEST(OrderWarning, IsForASideThatWasMeasuredFirst) {
  std::vector<RunRecord> first, second;
  const RunGroup a = started_at(first, "naive", {"2026-11-21T02:00:00Z", "2026-11-21T02:01:00Z"});
  const RunGroup b = started_at(second, "fused", {"2026-11-21T02:02:00Z"});
  EXPECT_EQ(order_warning(a, b)->kind, warning::kOneAfterTheOther);
  expect_golden(texts_of(merged({*order_warning(a, b), *order_warning(b, a)})));
}

TEST(OrderWarning, SaysNothingOfTurns) {
  std::vector<RunRecord> first, second, third;
  const RunGroup a = started_at(first, "naive", {"2026-11-21T02:00:00Z", "2026-11-21T02:02:00Z"});
  const RunGroup b = started_at(second, "fused", {"2026-11-21T02:01:00Z", "2026-11-21T02:03:00Z"});
  EXPECT_FALSE(order_warning(a, b)) << "by hand";
  const RunGroup c = started_at(third, "hoisted", {"2026-11-21T02:05:00Z"});
  first[0].summary.turn.measurement = third[0].summary.turn.measurement = "m";
  first[0].summary.turn.round = third[0].summary.turn.round = 1;
  EXPECT_FALSE(order_warning(a, c)) << "by rounds";
}

TEST(OrderWarning, IsForASweepWithoutRounds) {
  std::vector<RunRecord> first, second;
  const RunGroup a = started_at(first, "naive", {"2026-11-21T02:00:00Z"});
  const RunGroup b = started_at(second, "fused", {"2026-11-21T03:00:00Z"});
  first[0].summary.turn.measurement = second[0].summary.turn.measurement = "m";
  EXPECT_TRUE(order_warning(a, b).has_value());
}

TEST(OrderWarning, SaysNothingOfUnknownStarts) {
  std::vector<RunRecord> first, second;
  const RunGroup a = started_at(first, "naive", {""});
  const RunGroup b = started_at(second, "fused", {"2026-11-21T02:01:00Z"});
  EXPECT_FALSE(order_warning(a, b));
}

// ---- at the same time ----

// Returns a run that took `seconds` on a machine.
RunRecord run_at(const std::string& start, double seconds) {
  RunRecord run;
  run.folder = "runs/" + start.substr(11, 8);
  run.started = start;
  run.environment.host.machine_id = "m";
  run.summary.device = "cpu";
  run.summary.total_seconds = seconds;
  return run;
}

RunRecord on_gpu(RunRecord run, const std::string& device, const std::string& uuids) {
  run.summary.device = device;
  run.environment.used_gpus = uuids;
  return run;
}

RunRecord on_cpus(RunRecord run, const std::string& list) {
  run.environment.cpu.usable_list = list;
  return run;
}

using Texts = std::vector<std::string>;
using Find = std::vector<GroupFinding> (*)(const std::vector<RunGroup>&);

Texts texts_from(Find find, const std::vector<RunRecord>& first, const std::vector<RunRecord>& second) {
  RunGroup a = group_of(first), b = group_of(second);
  a.label = "naive";
  b.label = "fused";
  return texts_of(merged(find({a, b})));
}

const RunRecord kRun = run_at("2026-11-21T02:00:00Z", 60);
const RunRecord kHalfAMinuteLater = run_at("2026-11-21T02:00:30Z", 60);

TEST(SharedDevice, CpuCoresAreReported) {
  expect_golden(texts_from(shared_device_findings,
                           {run_at("2026-11-21T02:00:00.500Z", 60), run_at("2026-11-21T03:00:00Z", 60)},
                           {kHalfAMinuteLater}));
  EXPECT_THAT(texts_from(shared_device_findings, {on_cpus(kRun, "0-3")}, {on_cpus(kRun, "3-7")}), ::testing::SizeIs(1));
}

TEST(SharedDevice, AGpuIsReported) {
  expect_golden(
      texts_from(shared_device_findings, {on_gpu(kRun, "cuda:0", "GPU-a")}, {on_gpu(kRun, "cuda:1", "GPU-b,GPU-a")}));
  EXPECT_THAT(texts_from(shared_device_findings, {on_gpu(kRun, "cuda:0", "")}, {on_gpu(kRun, "cuda:0", "")}),
              ::testing::SizeIs(1))
      << "by the name of the device";
}

TEST(SharedDevice, IsNotReportedIfARunPreparedItsGpuBeforeItsLog) {
  RunRecord first = on_gpu(run_at("2026-11-21T02:00:08.100Z", 19), "cuda:0", "GPU-a");
  first.environment.start_time = "2026-11-21T02:00:00Z";
  const RunRecord second = on_gpu(run_at("2026-11-21T02:00:20Z", 27), "cuda:0", "GPU-a");
  EXPECT_THAT(texts_from(shared_device_findings, {first}, {second}), IsEmpty());
}

TEST(SharedDevice, IsReportedWithinAGroup) {
  EXPECT_THAT(texts_from(shared_device_findings, {kRun, kHalfAMinuteLater}, {run_at("2026-11-21T05:00:00Z", 60)}),
              ElementsAre(::testing::StartsWith("naive: trained while")));
}

TEST(SharedDevice, AreFoundOverMidnightAndTheYear) {
  EXPECT_THAT(
      texts_from(shared_device_findings, {run_at("2026-12-31T23:59:50Z", 60)}, {run_at("2027-01-01T00:00:10Z", 60)}),
      ::testing::SizeIs(1));
}

TEST(SharedDevice, AreNoneOneAfterTheOther) {
  EXPECT_THAT(texts_from(shared_device_findings, {kRun}, {run_at("2026-11-21T02:01:00Z", 60)}), IsEmpty());
  EXPECT_THAT(
      texts_from(shared_device_findings, {run_at("2026-11-21T02:00:00Z", 61.5)}, {run_at("2026-11-21T02:01:00Z", 60)}),
      IsEmpty())
      << "starts are known to the second";
}

TEST(SharedDevice, AreNoneOnDifferentGpusCoresAndMachines) {
  EXPECT_THAT(texts_from(shared_device_findings, {on_gpu(kRun, "cuda:0", "GPU-a")}, {on_gpu(kRun, "cuda:0", "GPU-b")}),
              IsEmpty());
  EXPECT_THAT(texts_from(shared_device_findings, {on_gpu(kRun, "cuda:0", "")}, {on_gpu(kRun, "cuda:1", "")}),
              IsEmpty());
  EXPECT_THAT(texts_from(shared_device_findings, {on_cpus(kRun, "0-3")}, {on_cpus(kRun, "4-7")}), IsEmpty());
  RunRecord first = on_gpu(kRun, "cuda:0", ""), second = first;
  first.environment.variables = Variables{{"CUDA_VISIBLE_DEVICES", "0"}};
  second.environment.variables = Variables{{"CUDA_VISIBLE_DEVICES", "1"}};
  EXPECT_THAT(texts_from(shared_device_findings, {first}, {second}), IsEmpty());
  RunRecord elsewhere = kRun;
  elsewhere.environment.host.machine_id = "another";
  EXPECT_THAT(texts_from(shared_device_findings, {kRun}, {elsewhere}), IsEmpty());
}

TEST(SharedDevice, OnACpuAndAGpuShareTheCores) {
  const RunRecord gpu = on_gpu(on_cpus(kRun, "0-3"), "cuda:0", "GPU-a");
  EXPECT_THAT(texts_from(shared_device_findings, {gpu}, {on_cpus(kRun, "0-3")}), ::testing::SizeIs(1));
  EXPECT_THAT(texts_from(shared_device_findings, {gpu}, {on_cpus(kRun, "4-7")}), IsEmpty());
  EXPECT_THAT(texts_from(shared_device_findings, {gpu}, {kRun}), IsEmpty()) << "its cores are not known";
}

// A minimal container does not have /etc/machine-id.
TEST(SharedDevice, AreFoundByTheNameOfAMachineWithoutAnId) {
  RunRecord first = kRun, second = kHalfAMinuteLater;
  for (RunRecord* run : {&first, &second}) run->environment.host.machine_id.clear();
  EXPECT_THAT(texts_from(shared_device_findings, {first}, {second}), IsEmpty()) << "nothing tells the machine";
  for (RunRecord* run : {&first, &second}) run->environment.host.hostname = "node7";
  EXPECT_THAT(texts_from(shared_device_findings, {first}, {second}), ::testing::SizeIs(1));
  second.environment.host.hostname = "node8";
  EXPECT_THAT(texts_from(shared_device_findings, {first}, {second}), IsEmpty());
}

TEST(SharedDevice, AreNotKnownOfResumedRuns) {
  RunRecord resumed = kRun;
  resumed.summary.was_resumed = true;
  EXPECT_THAT(texts_from(shared_device_findings, {resumed}, {kRun}), IsEmpty());
}

TEST(RunsOnOneMachine, WithGpusOfTheirOwnAreMarked) {
  expect_golden(
      texts_from(shared_machine_warnings, {on_gpu(kRun, "cuda:0", "GPU-a")}, {on_gpu(kRun, "cuda:0", "GPU-b")}));
  EXPECT_THAT(texts_from(shared_machine_warnings, {kRun}, {kHalfAMinuteLater}), IsEmpty()) << "these are refused";
}

// ---- rounds ----

std::vector<RunRecord> runs_of_rounds(const std::vector<int64_t>& rounds) {
  std::vector<RunRecord> runs;
  for (const int64_t round : rounds) runs.push_back(sample_record("a", round, {1, 1.1}));
  return runs;
}

std::vector<std::string> told_of_rounds(const std::vector<int64_t>& first, const std::vector<int64_t>& second) {
  const std::vector<RunRecord> first_runs = runs_of_rounds(first), second_runs = runs_of_rounds(second);
  RunGroup a = group_of(first_runs), b = group_of(second_runs);
  a.label = "naive";
  b.label = "fused";
  return texts_of(merged(missing_rounds(a, b)));
}

TEST(MissingRounds, AreReportedForASideFromWhichRunsWereOmitted) {
  expect_golden(told_of_rounds({1, 2, 3, 4, 5}, {1, 3, 5}));
}

TEST(MissingRounds, AreReportedForBothSides) { expect_golden(told_of_rounds({1, 3}, {1, 3})); }

TEST(MissingRounds, OfADamagedFileEndToo) {
  EXPECT_THAT(told_of_rounds({1, INT64_MAX}, {1}), ::testing::Not(IsEmpty()));
}

TEST(MissingRounds, AreCountedForEachSeed) {
  std::vector<RunRecord> first = runs_of_rounds({1, 2, 3, 1, 2, 3}), second = runs_of_rounds({1, 2, 3, 1, 2});
  for (size_t i = 3; i < first.size(); ++i) first[i].summary.seed = 2;
  for (size_t i = 3; i < second.size(); ++i) second[i].summary.seed = 2;
  RunGroup a = group_of(first), b = group_of(second);
  b.label = "fused";
  expect_golden(texts_of(merged(missing_rounds(a, b))));
}

TEST(MissingRounds, AreReportedForAMeasurementOfOnlyOneSide) {
  std::vector<RunRecord> first = runs_of_rounds({1, 2, 3, 1, 2}), second = runs_of_rounds({1, 2, 3});
  for (size_t i = 3; i < first.size(); ++i) first[i].summary.turn.measurement = "another";
  RunGroup a = group_of(first), b = group_of(second);
  a.label = "naive";
  b.label = "fused";
  expect_golden(texts_of(merged(missing_rounds(a, b))));
}

TEST(MissingRounds, AreNoneWhereAllAreThere) {
  EXPECT_THAT(told_of_rounds({1, 2, 3}, {1, 2, 3}), IsEmpty());
  EXPECT_THAT(told_of_rounds({}, {1, 2}), IsEmpty()) << "without rounds nothing is known";
}

using Order = std::vector<size_t>;
using ::testing::UnorderedElementsAre;

TEST(RoundOrder, HoldsEachSideOnce) {
  for (int64_t round = 1; round <= 6; ++round)
    EXPECT_THAT(order_of_round(7, round, 4), UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_EQ(order_of_round(7, 1, 1), Order{0});
  EXPECT_EQ(order_of_round(7, 1, 0), Order{});
}

TEST(RoundOrder, IsTheSameForTheSameSeed) {
  for (int64_t round = 1; round <= 6; ++round) EXPECT_EQ(order_of_round(3, round, 5), order_of_round(3, round, 5));
}

TEST(RoundOrder, GoesBackwardsInEverySecondRound) {
  for (const int64_t round : {1, 3, 5}) {
    Order back = order_of_round(11, round + 1, 6);
    std::ranges::reverse(back);
    EXPECT_EQ(order_of_round(11, round, 6), back);
  }
}

TEST(RoundOrder, IsDrawnAnewForEachPairOfRounds) {
  std::set<Order> orders;
  for (int64_t round = 1; round <= 39; round += 2) orders.insert(order_of_round(1, round, 6));
  EXPECT_GT(orders.size(), 15u);
}

TEST(SeedOfMeasurement, IsItsHexadecimalNumber) {
  EXPECT_EQ(seed_of_measurement("00000000000000a1"), 0xa1u);
  EXPECT_EQ(seed_of_measurement("ffffffffffffffff"), UINT64_MAX);
}

// For every seed, each of two sides is first about equally often.
TEST(RoundOrder, FavoursNoSide) {
  int num_first = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) num_first += order_of_round(seed, 1, 2)[0] == 0 ? 1 : 0;
  EXPECT_GT(num_first, 430);
  EXPECT_LT(num_first, 570);
}

}  // namespace
}  // namespace rnnlab::testing
