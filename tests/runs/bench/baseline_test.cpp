// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/baseline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "golden.h"
#include "runs/bench/sample_report.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::measured_row;
using ::testing::Not;
using ::testing::SizeIs;

// Returns a report of five processes, which is the smallest number for a verdict.
BenchReport sample_of_five() { return testing::in_processes(testing::sample_report(), 5); }

BenchReport on_gpu(BenchReport report) {
  for (BenchRow& row : report.rows) row.key.device = "cuda";
  return report;
}

void expect_refused(const BenchReport& now, const BenchReport& before) {
  expect_error(ExitCode::kUsage, [&] { compare_to_baseline(now, before, "old.json", {}); });
}

BenchReport report_with(const BenchRow& row) {
  BenchReport report = sample_of_five();
  report.rows = {testing::in_processes(row, 5)};
  return report;
}

void set_gpu(BenchReport& report, const char* name) {
  report.environment.nvidia.gpus.resize(1);
  report.environment.nvidia.gpus[0].name = name;
}

TimeVerdict verdict_of_naive(double forward, double forward_data, double all, double tolerance = 0.05) {
  const BenchReport now = report_with(measured_row(LayerKind::kNaive, forward, forward_data, all));
  return compare_to_baseline(now, sample_of_five(), "old.json", {.tolerance = tolerance}).rows.at(0).verdict;
}

TEST(BaselineComparison, TheSameIsTheSame) {
  const BaselineComparison against = compare_to_baseline(sample_of_five(), sample_of_five(), "old.json", {});
  ASSERT_THAT(against.rows, SizeIs(2)) << "what neither measured is left out";
  for (const RowComparison& row : against.rows) EXPECT_EQ(row.verdict, TimeVerdict::kNoDifference);
  EXPECT_FALSE(against.has_regression());
}

TEST(BaselineComparison, EveryPartHasItsRatio) {
  const BenchReport now = report_with(measured_row(LayerKind::kNaive, 0.8, 1.7, 1.95));
  const BaselineComparison against = compare_to_baseline(now, sample_of_five(), "old.json", {});
  std::vector<double> ratios;
  for (const auto& ratio : against.rows.at(0).ratios) ratios.push_back(*ratio.ratio);
  EXPECT_THAT(ratios, ElementsAre(::testing::DoubleEq(2), ::testing::DoubleNear(1.5, 1e-12),
                                  ::testing::DoubleNear(1.25, 1e-12), ::testing::DoubleNear(1.625, 1e-12)));
}

TEST(BaselineComparison, ARowIsSlowerBeyondTheTolerance) {
  EXPECT_EQ(verdict_of_naive(0.4, 1.0, 1.2), TimeVerdict::kNoDifference);
  EXPECT_EQ(verdict_of_naive(0.412, 1.03, 1.236), TimeVerdict::kNoDifference);
  EXPECT_EQ(verdict_of_naive(0.412, 1.03, 1.236, 0.02), TimeVerdict::kSlower);
  EXPECT_EQ(verdict_of_naive(0.44, 1.1, 1.32), TimeVerdict::kSlower);
  EXPECT_EQ(verdict_of_naive(0.36, 0.9, 1.08), TimeVerdict::kFaster);
  EXPECT_EQ(verdict_of_naive(0.36, 0.9, 1.08, 0.2), TimeVerdict::kNoDifference) << "one tolerance for both directions";
}

TEST(BaselineComparison, OnePartThatIsSlowerIsEnough) {
  EXPECT_EQ(verdict_of_naive(0.4, 0.9, 1.19), TimeVerdict::kSlower)
      << "weights 0.2 -> 0.29, though the total is shorter";
}

TEST(BaselineComparison, AnIntervalThatReachesBelowIsNoRegression) {
  BenchReport now = sample_of_five();
  for (size_t i = 0; i < 6; ++i) now.rows[0].measurement->samples.all[i] += 1;  // all that the first process measured
  const BaselineComparison against = compare_to_baseline(now, sample_of_five(), "old.json", {});
  EXPECT_GT(*against.rows.at(0).ratios.back().ratio, 1.1);
  EXPECT_FALSE(against.has_regression());
  EXPECT_EQ(against.rows.at(0).verdict, TimeVerdict::kUndecided);
}

TEST(BaselineComparison, OneProcessHasARatioWithoutIntervalOrVerdict) {
  const BenchReport now = testing::in_processes(report_with(measured_row(LayerKind::kNaive, 0.8, 2, 2.4)), 1);
  const BaselineComparison against = compare_to_baseline(now, testing::sample_report(), "old.json", {});
  EXPECT_EQ(against.rows.at(0).verdict, TimeVerdict::kNone);
  EXPECT_FALSE(against.has_regression());
  const std::string text = baseline_text(against);
  EXPECT_THAT(text, HasSubstr("  2.000"));
  EXPECT_THAT(text, Not(HasSubstr("2.000 (")));
  EXPECT_THAT(text, HasSubstr("no interval and no "));
}

TEST(BaselineComparison, ThreeProcessesHaveAnIntervalWithoutVerdict) {
  const BenchReport three = testing::in_processes(testing::sample_report(), 3);
  const BaselineComparison against = compare_to_baseline(three, sample_of_five(), "old.json", {});
  EXPECT_EQ(against.rows.at(0).verdict, TimeVerdict::kNone);
  EXPECT_THAT(baseline_text(against), HasSubstr("1.000 (1.000 .. 1.000)"));
  EXPECT_THAT(baseline_text(against), HasSubstr("before: no verdict"));
}

TEST(BaselineComparison, ADifferenceThatIsNotAboveZeroHasNoRatio) {
  BenchReport now = sample_of_five();
  for (size_t i = 0; i < 6; ++i) now.rows[0].measurement->samples.forward_data[i] = 0.3;  // less than forward
  const BaselineComparison against = compare_to_baseline(now, sample_of_five(), "old.json", {});
  EXPECT_FALSE(against.rows.at(0).ratios.at(1).ratio);
  EXPECT_TRUE(against.rows.at(0).ratios.at(2).ratio);
}

TEST(BaselineComparison, WhatIsNoLongerMeasuredIsARegression) {
  BenchReport now = sample_of_five();
  now.rows[1].measurement.reset();
  const BaselineComparison against = compare_to_baseline(now, sample_of_five(), "old.json", {});
  EXPECT_TRUE(against.rows.at(1).is_gone());
  EXPECT_TRUE(against.has_regression());
}

TEST(BaselineComparison, WhatWasNotMeasuredBeforeCannotRegress) {
  BenchReport before = sample_of_five();
  before.rows[1].measurement.reset();
  const BaselineComparison against = compare_to_baseline(sample_of_five(), before, "old.json", {});
  EXPECT_FALSE(against.has_regression());
  EXPECT_TRUE(against.rows.at(1).is_new());
  EXPECT_THAT(baseline_text(against), HasSubstr("only before: 0, only now: 1\n"));
}

TEST(BaselineComparison, OtherMachinesAndBuildsAreRefusedWithEveryReason) {
  BenchReport before = sample_of_five();
  before.environment.build.type = "Debug";
  before.environment.build.optimized = false;
  before.environment.cpu.model = "another CPU";
  before.environment.num_threads = 8;
  set_gpu(before, "a GPU that no row used");
  expect_refused(sample_of_five(), before);
  const BaselineComparison forced =
      compare_to_baseline(sample_of_five(), before, "old.json", {.on_difference = OnDifference::kForce});
  EXPECT_THAT(forced.forced, SizeIs(3));
  EXPECT_THAT(baseline_text(forced), HasSubstr("FORCED: "));
}

TEST(BaselineComparison, WhatCannotBeComparedIsKnownBeforeItIsMeasured) {
  BenchReport plan = sample_of_five(), before = sample_of_five();
  for (BenchRow& row : plan.rows) row.measurement.reset();
  before.environment.num_threads = 8;
  expect_error(ExitCode::kUsage, [&] { check_comparable(plan, before, "old.json", {}); });
  check_comparable(plan, before, "old.json", {.on_difference = OnDifference::kForce});
  check_comparable(plan, sample_of_five(), "old.json", {});
}

TEST(BaselineComparison, OnAGpuTheGpuMustBeTheSame) {
  BenchReport now = on_gpu(sample_of_five()), before = now;
  set_gpu(now, "NVIDIA H200");
  set_gpu(before, "NVIDIA A100");
  before.environment.cpu.model = "a CPU that no row used";
  expect_refused(now, before);
}

TEST(BaselineComparison, OtherConditionsOfTheCpuAreRefused) {
  BenchReport now = sample_of_five(), before = sample_of_five();
  now.environment.instruction_sets.onednn = "Intel SSE4.1";
  before.environment.instruction_sets.onednn = "Intel AVX2";
  now.environment.variables = Variables{{"ONEDNN_MAX_CPU_ISA", "SSE41"}};
  before.environment.variables = Variables();
  expect_refused(now, before);
}

TEST(BaselineComparison, OnAGpuItsHostIsToldAndItsDriverMustBeTheSame) {
  BenchReport now = on_gpu(sample_of_five()), before = now;
  now.environment.cpu.usable_cpus = 2;
  before.environment.cpu.usable_cpus = 64;
  EXPECT_THAT(compare_to_baseline(now, before, "old.json", {}).notes, ElementsAre("usable CPUs: 2 now, 64 before"));
  now.environment.nvidia.driver_version = "580.1";
  before.environment.nvidia.driver_version = "580.2";
  expect_refused(now, before);
}

TEST(BaselineComparison, OtherSoftwareAndAnotherMachineAreTold) {
  BenchReport now = sample_of_five(), before = sample_of_five();
  now.environment.host.machine_id = "a";
  before.environment.host.machine_id = "b";
  now.environment.software.cudnn = "9.19.0";
  before.environment.software.cudnn = "9.18.0";
  now.environment.cpu.quota = "none";
  const BaselineComparison against = compare_to_baseline(now, before, "old.json", {});
  expect_golden(against.notes);
  EXPECT_THAT(baseline_text(against), HasSubstr("\nmachine: a now, b before\n"));
}

TEST(BaselineComparison, AnotherPrecisionIsRefusedUnlessForced) {
  BenchReport before = sample_of_five();
  for (BenchRow& row : before.rows) row.key.precision = "bf16";
  expect_refused(sample_of_five(), before);
  EXPECT_THAT(compare_to_baseline(sample_of_five(), before, "old.json", {.on_difference = OnDifference::kForce}).rows,
              SizeIs(2));
}

TEST(BaselineComparison, AFileAboutOtherSizesIsRefused) {
  BenchReport before = sample_of_five();
  for (BenchRow& row : before.rows) row.key.hidden_size = 128;
  expect_refused(sample_of_five(), before);
}

TEST(BaselineComparison, RowsOfOneSideAreCounted) {
  BenchReport now = sample_of_five();
  now.rows[1].key.layer = "wavefront";
  const BaselineComparison against = compare_to_baseline(now, sample_of_five(), "old.json", {});
  EXPECT_EQ(against.num_only_now, 1u);
  EXPECT_EQ(against.num_only_before, 1u);
}

TEST(BaselineComparison, TheTable) {
  BenchReport now = sample_of_five();
  now.rows[0] = testing::in_processes(measured_row(LayerKind::kNaive, 0.8, 1.7, 1.95), 5);
  expect_golden(baseline_text(compare_to_baseline(now, sample_of_five(), "old.json", {})));
}

// naive takes 1.2 s in total in both reports, but the times of its processes differ.
BenchReport noisy_report() {
  BenchReport report = report_with(measured_row(LayerKind::kNaive, 0.4, 1.0, 1.2));
  const std::vector<double> of_process = {1.05, 1.1, 1.2, 1.3, 1.4};
  for (size_t i = 0; i < 30; ++i) report.rows[0].measurement->samples.all[i] = of_process[i / 6];
  return report;
}

TEST(BaselineComparison, AWideIntervalIsNotTakenForTheSame) {
  const BaselineComparison against = compare_to_baseline(noisy_report(), sample_of_five(), "old.json", {});
  EXPECT_EQ(against.rows.at(0).verdict, TimeVerdict::kUndecided);
  EXPECT_FALSE(against.has_regression());
  const std::string text = baseline_text(against);
  EXPECT_THAT(text, HasSubstr("0 equal within that, 1 undecided;"));
  const TimeRatio& all = against.rows[0].ratios.back();
  EXPECT_THAT(text, HasSubstr(fmt::format(" between {:.3f} and {:.3f} of ", *all.ratio_low, *all.ratio_high)));
}

}  // namespace
}  // namespace rnnlab
