// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/bench_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "base/text.h"
#include "golden.h"
#include "runs/bench/sample_report.h"

namespace rnnlab {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::sample_report;
using ::testing::StartsWith;
using testing::TemporaryFolder;

TEST(BenchReport, ReadsBackAsItWasWritten) {
  const TemporaryFolder folder;
  write_report(folder.name("a.json"), sample_report());
  const BenchReport read = read_report(folder.name("a.json"));
  write_report(folder.name("b.json"), read);
  EXPECT_EQ(testing::read_text(folder.name("a.json")), testing::read_text(folder.name("b.json")));
  EXPECT_EQ(read.rows.at(0).key, sample_report().rows.at(0).key);
  EXPECT_EQ(read.rows.at(1).measurement->samples.all, sample_report().rows.at(1).measurement->samples.all);
  expect_golden(read.rows.at(2).reason);
  EXPECT_FALSE(read.rows.at(2).measurement);
}

TEST(BenchReport, HoldsItsVersionAndTheEnvironment) {
  const TemporaryFolder folder;
  write_report(folder.name("a.json"), sample_report());
  const std::string text = testing::read_text(folder.name("a.json"));
  EXPECT_TRUE(text.starts_with("{\n  \"schema_version\": 3,\n  \"environment\": {\n")) << text.substr(0, 200);
}

TEST(BenchReport, OfAnotherVersionIsRefused) {
  const TemporaryFolder folder;
  testing::write_text(folder.name("a.json"), "{\"schema_version\": 99}");
  testing::expect_error(ExitCode::kData, [&] { read_report(folder.name("a.json")); });
}

TEST(BenchReport, ThatIsNotThereOrNoJsonIsRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.name("a.json");
  testing::expect_error(ExitCode::kUsage, [&] { read_report(file); });
  testing::write_text(file, report_csv(sample_report()));
  testing::expect_error(ExitCode::kData, [&] { read_report(file); });
}

TEST(BenchReport, ASampleThatIsNoNumberIsNamed) {
  const TemporaryFolder folder;
  write_report(folder.name("a.json"), sample_report());
  std::string text = testing::read_text(folder.name("a.json"));
  const std::string sample = "\"forward_data\": [\n";
  const size_t at = text.find(sample);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, sample.size(), "\"forward_data\": [\n\"long\",");
  testing::write_text(folder.name("a.json"), text);
  testing::expect_error(ExitCode::kData, [&] { read_report(folder.name("a.json")); });
}

// Writes the report, and expects that it is not read.
void expect_refused(const BenchReport& report) {
  const TemporaryFolder folder;
  write_report(folder.name("a.json"), report);
  testing::expect_error(ExitCode::kData, [&] { read_report(folder.name("a.json")); });
}

TEST(BenchReport, WithImpossibleSamplesIsRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const PassSamples& samples : {PassSamples{.forward = {}, .forward_data = {}, .all = {}},
                                     PassSamples{.forward = {1, 2}, .forward_data = {1, 2}, .all = {3}},
                                     PassSamples{.forward = {1, 0}, .forward_data = {1, 2}, .all = {3, 4}},
                                     PassSamples{.forward = {1, 2}, .forward_data = {-1, 2}, .all = {3, 4}},
                                     PassSamples{.forward = {1, 2}, .forward_data = {1, 2}, .all = {3, infinity}}}) {
    BenchReport report = sample_report();
    report.rows[1].measurement->samples = samples;
    expect_refused(report);
  }
}

TEST(BenchReport, WithRoundsThatAreNotItsSamplesIsRefused) {
  for (const std::vector<int64_t>& rounds : {std::vector<int64_t>{5}, {6, 1}, {7, -1}, {INT64_MAX, INT64_MAX}}) {
    BenchReport report = sample_report();
    report.rows[1].measurement->rounds_by_process = rounds;
    expect_refused(report);
  }
}

TEST(BenchReport, WithTimesThatItsSamplesDoNotGiveIsRefused) {
  BenchReport report = sample_report();
  report.rows[1].measurement->seconds.total.value = 0.3;
  expect_refused(report);
}

TEST(BenchReport, ReadsBackFromOneLine) {
  const BenchReport report = testing::in_processes(sample_report(), 3);
  const std::string line = report_on_one_line(report);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(report_on_one_line(report_from(line, "process 1")), line);
}

TEST(BenchReport, RatesSayWhatTheTimesComeTo) {
  const PartRates rates = sample_report().rows[0].measurement->rates;
  EXPECT_DOUBLE_EQ(rates.forward->microseconds_per_layer_step, 1000);
  EXPECT_DOUBLE_EQ(rates.forward->gflops, 268.435456);
  EXPECT_DOUBLE_EQ(rates.forward->gemm_share, 0.268435456);
  EXPECT_DOUBLE_EQ(rates.total->gflops, 3 * 107.3741824 / 1.2);
  EXPECT_DOUBLE_EQ(rates.forward->bandwidth_share, rates.forward->least_bytes / 0.4 / 1e11);
  EXPECT_DOUBLE_EQ(rates.total->least_bytes,
                   rates.forward->least_bytes + rates.backward_data->least_bytes + rates.backward_weights->least_bytes);
}

TEST(BenchReport, APartThatMayHaveTakenNoTimeHasNoRate) {
  BenchReport report = sample_report();
  Measurement& measurement = *report.rows[0].measurement;
  measurement.seconds.backward_weights = {.value = 0.2, .low = -0.1, .high = 0.5};
  const BenchCase combination = {.device = "cpu", .options = {.input_size = 8, .hidden_size = 8}, .batch_size = 2};
  const PartRates rates = part_rates(measurement.seconds, combination, report.ceilings[0]);
  EXPECT_FALSE(rates.backward_weights);
  EXPECT_TRUE(rates.backward_data);
  EXPECT_TRUE(rates.total);
}

// Earlier versions wrote such rates.
TEST(BenchReport, ReadsNoRateOfAPartThatMayHaveTakenNoTime) {
  const TemporaryFolder folder;
  const std::string file = folder.name("bench.json");
  BenchReport report = sample_report();
  report.rows[0].measurement->seconds.backward_weights.low = 0;
  write_report(file, report);
  const Measurement read = *read_report(file).rows[0].measurement;
  EXPECT_FALSE(read.rates.backward_weights);
  EXPECT_TRUE(read.rates.forward);
}

void expect_estimate(const Estimate& estimate, double value, double low, double high) {
  EXPECT_DOUBLE_EQ(estimate.value, value);
  EXPECT_DOUBLE_EQ(estimate.low, low);
  EXPECT_DOUBLE_EQ(estimate.high, high);
}

TEST(Estimate, PartsAreDifferencesOfTheNestedPrograms) {
  const PartTimes parts =
      part_times({{.forward = {1, 1, 1, 1, 1, 1}, .forward_data = {3, 3, 3, 3, 3, 3}, .all = {7, 7, 7, 7, 7, 7}}});
  expect_estimate(parts.forward, 1, 1, 1);
  expect_estimate(parts.backward_data, 2, 2, 2);
  expect_estimate(parts.backward_weights, 4, 4, 4);
  expect_estimate(parts.total, 7, 7, 7);
}

TEST(Estimate, AProgramsIntervalIsThatOfOrderStatistics) {
  const PartTimes parts =
      part_times({{.forward = {3, 1, 2, 6, 5, 4}, .forward_data = {9, 9, 9, 9, 9, 9}, .all = {9, 9, 9, 9, 9, 9}}});
  expect_estimate(parts.forward, 3.5, 1, 6);
}

TEST(Estimate, WhatSlowsDownAWholeRoundCancelsInTheDifference) {
  const std::vector<double> part = {1, 2, 3, 4, 5, 6, 7};
  std::vector<double> whole;
  for (const double value : part) whole.push_back(value + 10);
  expect_estimate(difference(whole, part), 10, 10, 10);
}

TEST(Estimate, ADifferenceHasAnIntervalAroundIt) {
  const Estimate estimate = difference({10, 11, 12, 13, 14, 15, 16}, {3, 1, 2, 1, 3, 2, 2});
  EXPECT_DOUBLE_EQ(estimate.value, 11);
  EXPECT_LT(estimate.low, 11);
  EXPECT_GT(estimate.high, 11);
  EXPECT_GE(estimate.low, 10 - 3);
  EXPECT_LE(estimate.high, 16 - 1);
}

TEST(Estimate, TheSameSamplesGiveTheSameInterval) {
  const std::vector<double> whole = {10, 11, 12, 13, 14, 15, 16}, part = {3, 1, 2, 1, 3, 2, 2};
  const Estimate first = difference(whole, part), second = difference(whole, part);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
}

TEST(Estimate, ADifferenceNeedsRoundsInPairs) {
  EXPECT_THROW(difference({1, 2}, {1}), InvariantError);
  EXPECT_THROW(difference({}, {}), InvariantError);
}

PassSamples process(double forward, double forward_data, double all) {
  return {.forward = {forward}, .forward_data = {forward_data}, .all = {all}};
}

TEST(Estimate, OfSeveralProcessesIsTheMeanOfTheirMedians) {
  const PartTimes parts = part_times({process(1, 2, 4), process(2, 4, 8), process(4, 8, 16)});
  EXPECT_DOUBLE_EQ(parts.forward.value, 2);
  EXPECT_DOUBLE_EQ(parts.total.value, 8);
  EXPECT_DOUBLE_EQ(parts.backward_data.value, 7. / 3);
  EXPECT_LT(parts.backward_data.low, 0) << "three processes tell little";
  EXPECT_GT(parts.forward.low, 0);
}

TEST(Estimate, OfTwoProcessesIsARange) {
  const PartTimes parts = part_times({process(1, 2, 4), process(4, 6, 7)});
  expect_estimate(parts.forward, 2, 1, 4);
  expect_estimate(parts.backward_weights, 1.5, 1, 2);
}

TEST(Estimate, ASpeedUpOfOneProcessIsThatOfItsMedians) {
  const PassSamples base = {.forward = {4, 4, 4}, .forward_data = {}, .all = {}};
  const PassSamples own = {.forward = {2, 2, 2}, .forward_data = {}, .all = {}};
  expect_estimate(speedup({base}, {own}, &PassSamples::forward), 2, 2, 2);
}

TEST(Estimate, ASpeedUpPairsTheProcesses) {
  const std::vector<PassSamples> base = {process(2, 2, 2), process(6, 6, 6), process(10, 10, 10)};
  const std::vector<PassSamples> own = {process(1, 1, 1), process(3, 3, 3), process(5, 5, 5)};
  expect_estimate(speedup(base, own, &PassSamples::all), 2, 2, 2);
  EXPECT_THROW(speedup(base, {own[0]}, &PassSamples::all), InvariantError);
}

TEST(BenchText, TheNarrowTableSaysOnceWhatAllRowsShare) {
  expect_golden(report_text(sample_report(), TableWidth::kNarrow));
}

TEST(BenchText, ADifferenceThatMayBeNothingIsGivenByItsUpperEnd) {
  BenchReport report = sample_report();
  report.rows[1].measurement->seconds.backward_weights = {.value = -0.001, .low = -0.01, .high = 0.0455};
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, HasSubstr("300.0 ±0.0%         < 45.50  600.0 ±0.0%"));
  EXPECT_THAT(text, HasSubstr("\n< x: "));
}

TEST(BenchText, ADifferenceBelowNothingIsCalledNegative) {
  BenchReport report = sample_report();
  report.rows[1].measurement->seconds.backward_weights = {.value = -0.001, .low = -0.002, .high = -0.0001};
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, HasSubstr("300.0 ±0.0%        negative  600.0 ±0.0%"));
  EXPECT_THAT(text, HasSubstr("\nnegative: "));
}

TEST(BenchText, AnIntervalThatSaysNothingIsNoPercentage) {
  BenchReport report = testing::in_processes(sample_report(), 3);
  report.rows[1].measurement->seconds.total = {.value = 0.6, .low = 0.0006, .high = 655};
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, HasSubstr("100.0 ±0.0%  600.0 wide  "));
  EXPECT_THAT(text, HasSubstr("\nwide: the processes "));
  EXPECT_THAT(report_text(report, TableWidth::kWide), HasSubstr("0.6000 .. 655000"));
  report.rows[1].measurement->seconds.total = {.value = 0.6, .low = 0.45, .high = 0.75};
  EXPECT_THAT(report_text(report, TableWidth::kNarrow), HasSubstr("600.0 ±25.0%"));
}

TEST(BenchText, AGainOrTimeOfOneProcessThatSaysNothingIsMarked) {
  BenchReport report = sample_report();
  report.rows[1].measurement->speedup_total = Estimate{.value = 16.9, .low = 0.4, .high = 31};
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, HasSubstr("2.00x  16.9x wide\n"));
  EXPECT_THAT(text, HasSubstr("\nwide: the samples "));
  report = sample_report();
  report.rows[1].measurement->seconds.forward = {.value = 0.2, .low = 0.1, .high = 0.5};
  EXPECT_THAT(report_text(report, TableWidth::kNarrow), HasSubstr("\nwide: the samples "));
}

TEST(BenchText, OneReasonForAllRowsIsGivenOnceWithoutATable) {
  BenchReport report = sample_report();
  for (BenchRow& row : report.rows) {
    row.measurement.reset();
    row.reason = "mode: graph needs CUDA";
    row.notes.clear();
  }
  EXPECT_THAT(report_text(report, TableWidth::kNarrow), EndsWith("(mode: graph needs CUDA)\n"));
}

TEST(BenchText, WhatDiffersMakesAColumn) {
  BenchReport report = sample_report();
  report.rows[0].key.hidden_size = report.rows[0].key.input_size = 256;
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, StartsWith("cpu eager fp32 lstm B 64 T 100 L 4\n"));
  EXPECT_THAT(text, HasSubstr("\nH    layer "));
  EXPECT_THAT(text, HasSubstr("\n256  naive "));
  EXPECT_THAT(text, HasSubstr("not measured: hoisted H 512 "));
}

TEST(BenchText, TheWideTableHasIntervalsBytesMemoryAndKernels) {
  const std::string text = report_text(sample_report(), TableWidth::kWide);
  for (const char* part : {"400.0 .. 400.0", "3.00 MiB", "longest: aten::addmm x3200 250 ms", "% copy"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(BenchText, WarningsComeFirst) {
  BenchReport report = sample_report();
  report.warnings = {{warning::kCpuBusy, "THE CPU IS BUSY"}};
  EXPECT_THAT(report_text(report, TableWidth::kNarrow), StartsWith("WARNING: THE CPU "));
}

TEST(BenchText, FewSamplesAreSaid) {
  BenchReport report = sample_report();
  EXPECT_THAT(report_text(report, TableWidth::kNarrow), Not(HasSubstr("fewer than six")));
  report.rows[1].measurement->samples.all.resize(3);
  EXPECT_THAT(report_text(report, TableWidth::kNarrow), HasSubstr("fewer than six"));
}

TEST(BenchText, SaysWhatTheIntervalsAreOf) {
  const BenchReport report = sample_report();
  EXPECT_THAT(report_text(testing::in_processes(report, 2), TableWidth::kNarrow),
              HasSubstr("\n2 processes: the intervals "));
  EXPECT_THAT(report_text(testing::in_processes(report, 5), TableWidth::kNarrow),
              HasSubstr("\n5 processes: the times "));
}

TEST(BenchText, NoRowsAreSaidToo) { EXPECT_EQ(report_text({}, TableWidth::kNarrow), "nothing was measured\n"); }

TEST(BenchText, InputsDirectionsAndAlgorithmAreSaidWhereTheyAreNotTheUsual) {
  BenchRow row = sample_report().rows[0];
  expect_golden(row_label(row.key, key_columns()));
  row.key.input_size = 28;
  row.key.bidirectional = true;
  row.key.cudnn_algorithm = "standard";
  expect_golden(row_label(row.key, key_columns()));
  expect_golden(shared_text({row.key}));
}

TEST(BenchText, RowsOfEarlierVersionsAreFormsOfPersistent) {
  BenchReport report = sample_report();
  report.rows[0].key.layer = "persistent_clusters";
  const std::string text = report_on_one_line(report);
  EXPECT_THAT(text, Not(HasSubstr("persistent_form")));
  const BenchReport read = report_from(text, "bench.json");
  EXPECT_EQ(read.rows[0].key.layer, "persistent");
  EXPECT_EQ(read.rows[0].key.persistent_form, "clusters");
  EXPECT_EQ(read.rows[1].key.persistent_form, "");
  EXPECT_EQ(row_label(read.rows[0].key, {}), "persistent clusters");
}

TEST(BenchCsv, EveryLineHasTheFieldsOfTheHeader) {
  const std::vector<std::string> lines = split(report_csv(sample_report()), '\n');
  ASSERT_EQ(lines.size(), 5u) << "a header, three rows and the end";
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(split(lines[i], ',').size(), split(lines[0], ',').size()) << lines[i];
}

TEST(BenchCsv, HoldsKeysNumbersAndReasons) {
  const std::vector<std::string> lines = split(report_csv(sample_report()), '\n');
  EXPECT_THAT(
      lines[0],
      StartsWith(
          "layer,device,mode,precision,cell,cudnn_algorithm,hidden_size,batch_size,num_steps,num_layers,"
          "input_size,bidirectional,heads,persistent_form,starts,reason,forward_seconds_value,forward_seconds_low,"
          "forward_seconds_high,forward_microseconds_per_layer_step,"));
  EXPECT_THAT(lines[1], StartsWith("naive,cpu,eager,fp32,lstm,auto,512,64,100,4,512,0,1,,0,,0.4,0.4,0.4,1000,"));
  EXPECT_THAT(lines[3], StartsWith("hoisted,cpu,eager,fp32,lstm,auto,512,64,100,4,512,0,1,,0,layer: hoisted "));
}

}  // namespace

}  // namespace rnnlab
