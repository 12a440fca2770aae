// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/run_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/statistics.h"
#include "golden.h"
#include "runs/bench/sample_report.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::measured_row;
using ::testing::SizeIs;

const BenchSettings kSettings = [] {
  BenchSettings settings;
  settings.layer = {LayerKind::kNaive, LayerKind::kFused};
  settings.device = {"cpu"};
  return settings;
}();

// Returns the report of one process in which the layers take `naive` and `fused` seconds in total, a quarter of them
// forward.
BenchReport report_of(double naive, double fused) {
  BenchReport report = testing::sample_report();
  report.rows = {measured_row(LayerKind::kNaive, naive / 4, naive / 2, naive),
                 measured_row(LayerKind::kFused, fused / 4, fused / 2, fused)};
  return report;
}

BenchReport without_second_row(BenchReport report, const std::string& reason) {
  report.rows[1].measurement.reset();
  report.rows[1].reason = reason;
  return report;
}

TEST(Combine, OneProcessStaysAsItIs) {
  const BenchReport report = combine_reports({report_of(4, 2)}, kSettings);
  EXPECT_EQ(report.rows[1].measurement->seconds.total.value, 2);
}

TEST(Combine, TimesAreGeometricMeansWithTheIntervalOfTheNextProcess) {
  const BenchReport report = combine_reports({report_of(4, 1), report_of(4, 2), report_of(4, 4)}, kSettings);
  const Estimate total = report.rows[1].measurement->seconds.total;
  const MeanEstimate expected = geometric_mean_estimate(std::vector<double>{1, 2, 4});
  EXPECT_DOUBLE_EQ(total.value, 2);
  EXPECT_DOUBLE_EQ(total.low, expected.bounds.low);
  EXPECT_DOUBLE_EQ(total.high, expected.bounds.high);
  EXPECT_DOUBLE_EQ(report.rows[1].measurement->rates.total->gflops, 3 * 107.3741824 / 2);
}

TEST(Combine, DifferencesHaveAnArithmeticMean) {
  const BenchReport report = combine_reports({report_of(4, 1), report_of(4, 2), report_of(4, 3)}, kSettings);
  EXPECT_DOUBLE_EQ(report.rows[1].measurement->seconds.backward_weights.value, 1);
}

TEST(Combine, SpeedUpsArePairedByProcess) {
  const BenchReport report = combine_reports({report_of(2, 1), report_of(4, 2), report_of(8, 4)}, kSettings);
  const Estimate gain = *report.rows[1].measurement->speedup_total;
  EXPECT_DOUBLE_EQ(gain.low, 2);
  EXPECT_DOUBLE_EQ(gain.high, 2);
  EXPECT_DOUBLE_EQ(report.rows[0].measurement->speedup_total->value, 1);
}

TEST(Combine, TwoProcessesHaveARangeOnly) {
  const BenchReport report = combine_reports({report_of(4, 1), report_of(4, 4)}, kSettings);
  const Estimate total = report.rows[1].measurement->seconds.total;
  EXPECT_DOUBLE_EQ(total.value, 2);
  EXPECT_DOUBLE_EQ(total.low, 1);
  EXPECT_DOUBLE_EQ(total.high, 4);
}

TEST(Combine, KeepsTheSamplesOfEachProcess) {
  const Measurement all = *combine_reports({report_of(4, 1), report_of(4, 2)}, kSettings).rows[1].measurement;
  EXPECT_THAT(all.rounds_by_process, ElementsAre(6, 6));
  ASSERT_THAT(by_process(all), SizeIs(2));
  EXPECT_EQ(by_process(all)[1].all.front(), 2);
}

TEST(Combine, ARowThatOneProcessCouldNotMeasureHasANote) {
  const BenchReport report = combine_reports(
      {report_of(8, 1), without_second_row(report_of(4, 2), "out of memory"), report_of(8, 4)}, kSettings);
  const BenchRow& row = report.rows[1];
  ASSERT_TRUE(row.measurement);
  EXPECT_THAT(row.measurement->rounds_by_process, ElementsAre(6, 0, 6));
  EXPECT_DOUBLE_EQ(row.measurement->speedup_total->value, 4) << "over the processes that measured both";
  expect_golden(texts_of(row.notes));
}

TEST(Combine, ARowThatNoProcessCouldMeasureKeepsItsReason) {
  const BenchReport report = combine_reports(
      {without_second_row(report_of(4, 2), "no"), without_second_row(report_of(4, 2), "no")}, kSettings);
  EXPECT_FALSE(report.rows[1].measurement);
  EXPECT_EQ(report.rows[1].reason, "no");
}

TEST(Combine, AProcessThatWasCutShortHasFewerRows) {
  BenchReport second = report_of(4, 2);
  second.rows.resize(1);
  const BenchReport report = combine_reports({report_of(4, 2), second}, kSettings);
  EXPECT_THAT(report.rows[0].measurement->rounds_by_process, ElementsAre(6, 6));
  EXPECT_THAT(report.rows[1].measurement->rounds_by_process, ElementsAre(6, 0));
  EXPECT_THAT(report.rows[1].notes, IsEmpty());
}

TEST(Combine, WarningsOfOneKindAreToldOnce) {
  BenchReport first = report_of(4, 2), second = first;
  first.warnings = {{warning::kHighLoad, "a load of 3"}, {warning::kUnfinished, "UNFINISHED"}};
  second.warnings = {{warning::kHighLoad, "a load of 4"}, {warning::kCpuBusy, "busy"}};
  expect_golden(texts_of(combine_reports({first, second}, kSettings).warnings));
}

TEST(Combine, TheHighestCeilingCounts) {
  BenchReport second = report_of(4, 2);
  second.ceilings[0].gemm_flops_per_second *= 2;
  const BenchReport report = combine_reports({report_of(4, 2), second}, kSettings);
  ASSERT_THAT(report.ceilings, SizeIs(1));
  EXPECT_EQ(report.ceilings[0].gemm_flops_per_second, 2e12);
}

}  // namespace
}  // namespace rnnlab
