#include "bench/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "bench/sample_report.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::sample_report;
using ::testing::StartsWith;

TEST(BenchText, TheNarrowTableSaysOnceWhatAllRowsShare) {
  EXPECT_EQ(report_text(sample_report(), TableWidth::kNarrow),
            R"(cpu eager fp32 lstm H 512 B 64 T 100 L 4
cpu fp32 at its best: 1 TFLOP/s in a large GEMM, 100 GB/s in a large copy

layer     forward ms  bwd data ms  bwd weights ms     total ms  fwd us/ls  bwd us/ls  fwd GFLOP/s  % GEMM  fwd gain   gain
-------  -----------  -----------  --------------  -----------  ---------  ---------  -----------  ------  --------  -----
naive    400.0 ±0.0%  600.0 ±0.0%     200.0 ±0.0%   1200 ±0.0%       1000       1500          268    26.8     1.00x  1.00x
fused    200.0 ±0.0%  300.0 ±0.0%     100.0 ±0.0%  600.0 ±0.0%        500        750          537    53.7     2.00x  2.00x
hoisted            -            -               -            -          -          -            -       -         -      -

Times with the half width of their 95 % interval; us/ls: microseconds a layer and step; % GEMM: of the best above;
gain: over the first layer, in the forward pass and in all.
One process: the intervals are of its samples, not for different processes; set processes: 5 to measure five.
naive ran native loop
  no faster path
fused ran native loop
hoisted was not measured: layer: hoisted cannot do this
)");
}

TEST(BenchText, ADifferenceThatMayBeNothingIsGivenByItsUpperEnd) {
  BenchReport report = sample_report();
  report.rows[1].measurement->seconds.backward_weights = {.value = -0.001, .low = -0.01, .high = 0.0455};
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, HasSubstr("300.0 ±0.0%         < 45.50  600.0 ±0.0%"));
  EXPECT_THAT(text, HasSubstr("\n< x: too short to distinguish from zero; x is the upper end of the interval.\n"));
}

TEST(BenchText, ADifferenceBelowNothingIsCalledNegative) {
  BenchReport report = sample_report();
  report.rows[1].measurement->seconds.backward_weights = {.value = -0.001, .low = -0.002, .high = -0.0001};
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, HasSubstr("300.0 ±0.0%        negative  600.0 ±0.0%"));
  EXPECT_THAT(text, HasSubstr("\nnegative: this part is the difference of two times"));
}

TEST(BenchText, AnIntervalThatSaysNothingIsNoPercentage) {
  BenchReport report = testing::in_processes(sample_report(), 3);
  report.rows[1].measurement->seconds.total = {.value = 0.6, .low = 0.0006, .high = 655};
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, HasSubstr("100.0 ±0.0%  600.0 wide  "));
  EXPECT_THAT(text, HasSubstr("\nwide: the processes differ too much, the end of the interval is more than 100 % away; "
                              "more processes help (ends: bench --wide).\n"));
  EXPECT_THAT(report_text(report, TableWidth::kWide), HasSubstr("0.6000 .. 655000"));
  report.rows[1].measurement->seconds.total = {.value = 0.6, .low = 0.3, .high = 1.2};
  EXPECT_THAT(report_text(report, TableWidth::kNarrow), HasSubstr("600.0 ±100.0%"));
}

TEST(BenchText, SamplesOfOneProcessMayDifferTooMuchToo) {
  BenchReport report = sample_report();
  report.rows[1].measurement->seconds.forward = {.value = 0.2, .low = 0.1, .high = 0.5};
  EXPECT_THAT(report_text(report, TableWidth::kNarrow),
              HasSubstr("\nwide: the samples differ too much, the end of the interval is more than 100 % away; more "
                        "repeats help (ends: bench --wide).\n"));
}

TEST(BenchText, WhatDiffersMakesAColumn) {
  BenchReport report = sample_report();
  report.rows[0].key.hidden_size = report.rows[0].key.input_size = 256;
  const std::string text = report_text(report, TableWidth::kNarrow);
  EXPECT_THAT(text, StartsWith("cpu eager fp32 lstm B 64 T 100 L 4\n"));
  EXPECT_THAT(text, HasSubstr("\nH    layer "));
  EXPECT_THAT(text, HasSubstr("\n256  naive "));
  EXPECT_THAT(text, HasSubstr("hoisted H 512 was not measured: layer: hoisted cannot do this\n"));
}

TEST(BenchText, TheWideTableHasIntervalsBytesMemoryAndKernels) {
  const std::string text = report_text(sample_report(), TableWidth::kWide);
  for (const char* part : {"400.0 .. 400.0", "3.00 MiB", "longest: aten::addmm x3200 250 ms", "% copy"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(BenchText, WarningsComeFirst) {
  BenchReport report = sample_report();
  report.warnings = {{warning::kCpuBusy, "THE CPU IS BUSY"}};
  EXPECT_THAT(report_text(report, TableWidth::kNarrow), StartsWith("WARNING: THE CPU IS BUSY\n\ncpu eager"));
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
              HasSubstr("\n2 processes: the intervals are their range; 95 % intervals need 3.\n"));
  EXPECT_THAT(report_text(testing::in_processes(report, 5), TableWidth::kNarrow),
              HasSubstr("\n5 processes: the times are means over processes, with 95 % intervals of the mean.\n"));
}

TEST(BenchText, NoRowsAreSaidToo) { EXPECT_EQ(report_text({}, TableWidth::kNarrow), "nothing was measured\n"); }

TEST(BenchText, InputsDirectionsAndAlgorithmAreSaidWhereTheyAreNotTheUsual) {
  BenchRow row = sample_report().rows[0];
  EXPECT_EQ(row_label(row.key, key_columns()), "naive cpu eager fp32 lstm H 512 B 64 T 100 L 4");
  row.key.input_size = 28;
  row.key.bidirectional = true;
  row.key.cudnn_algorithm = "standard";
  EXPECT_EQ(row_label(row.key, key_columns()), "naive cpu eager fp32 lstm standard I 28 H 512 B 64 T 100 L 4 D 2");
  EXPECT_EQ(shared_text({row}), "cpu eager fp32 lstm standard I 28 H 512 B 64 T 100 L 4 D 2");
}

TEST(BenchText, NumbersHaveTheirDigitsAndNoExponent) {
  EXPECT_EQ(significant(12.8149, 4), "12.81");
  EXPECT_EQ(significant(99.9999, 4), "100.0");
  EXPECT_EQ(significant(123456.7, 4), "123457");
  EXPECT_EQ(significant(0.00123456, 4), "0.001235");
  EXPECT_EQ(significant(-1.5, 3), "-1.50");
  EXPECT_EQ(significant(0, 3), "0.00");
}

TEST(BenchCsv, EveryLineHasTheFieldsOfTheHeader) {
  const std::vector<std::string> lines = split(report_csv(sample_report()), '\n');
  ASSERT_EQ(lines.size(), 5u) << "a header, three rows and the end";
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(split(lines[i], ',').size(), split(lines[0], ',').size()) << lines[i];
}

TEST(BenchCsv, HoldsKeysNumbersAndReasons) {
  const std::vector<std::string> lines = split(report_csv(sample_report()), '\n');
  EXPECT_THAT(lines[0],
              StartsWith("layer,device,mode,precision,cell,cudnn_algorithm,hidden_size,batch_size,num_steps,num_layers,"
                         "input_size,bidirectional,reason,forward_seconds_value,forward_seconds_low,"
                         "forward_seconds_high,forward_microseconds_per_layer_step,"));
  EXPECT_THAT(lines[1], StartsWith("naive,cpu,eager,fp32,lstm,auto,512,64,100,4,512,0,,0.4,0.4,0.4,1000,"));
  EXPECT_THAT(lines[3],
              StartsWith("hoisted,cpu,eager,fp32,lstm,auto,512,64,100,4,512,0,layer: hoisted cannot do this,,,"));
}

}  // namespace
}  // namespace rnnlab
