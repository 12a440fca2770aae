// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/run_bench.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "golden.h"
#include "runs/bench/fake_backend.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using testing::FakeBackend;
using ::testing::IsEmpty;
using ::testing::SizeIs;

BenchSettings small_settings() {
  BenchSettings settings;
  settings.layer = {LayerKind::kNaive, LayerKind::kFused};
  settings.device = {"cpu"};
  settings.repeats = 6;
  return settings;
}

class RunBench : public ::testing::Test {
 protected:
  RunBench() {
    backend_.seconds[LayerKind::kNaive] = {0.5, 1.5, 2};
    backend_.seconds[LayerKind::kFused] = {0.25, 0.5, 0.5};
  }

  BenchOutcome run(const BenchSettings& settings) {
    return run_bench(
        settings, backend_,
        {.should_stop = [this] { return backend_.log.size() >= stop_after_; },
         .on_progress = [this](const std::string& line) { progress_.push_back(line); },
         .on_report = {},
         .on_sample = [this](const std::string& what, int64_t done,
                             int64_t total) { samples_.push_back(fmt::format("{} {} of {}", what, done, total)); }});
  }

  size_t count_in_log(const std::string& start) const {
    return static_cast<size_t>(
        std::ranges::count_if(backend_.log, [&](const std::string& line) { return line.starts_with(start); }));
  }

  FakeBackend backend_;
  std::vector<std::string> progress_;
  std::vector<std::string> samples_;
  size_t stop_after_ = SIZE_MAX;
};

TEST_F(RunBench, ARowForEachLayerWithTimesRatesAndGains) {
  const BenchOutcome outcome = run(small_settings());
  EXPECT_EQ(outcome.exit_code, ExitCode::kDone);
  ASSERT_THAT(outcome.report.rows, SizeIs(2));
  const BenchRow& fused = outcome.report.rows[1];
  EXPECT_EQ(fused.key.layer, "fused");
  EXPECT_EQ(fused.reason, "");
  ASSERT_TRUE(fused.measurement);
  EXPECT_THAT(fused.measurement->samples.forward, SizeIs(6));
  EXPECT_DOUBLE_EQ(fused.measurement->seconds.forward.value, 0.25);
  EXPECT_DOUBLE_EQ(fused.measurement->seconds.backward_data.value, 0.25);
  EXPECT_DOUBLE_EQ(fused.measurement->seconds.backward_weights.value, 0);
  EXPECT_DOUBLE_EQ(fused.measurement->seconds.total.value, 0.5);
  EXPECT_DOUBLE_EQ(fused.measurement->speedup_forward->value, 2);
  EXPECT_DOUBLE_EQ(fused.measurement->speedup_total->value, 4);
  EXPECT_DOUBLE_EQ(outcome.report.rows[0].measurement->speedup_total->value, 1);
}

TEST_F(RunBench, RatesComeFromTheMediansAndTheCeiling) {
  const BenchOutcome outcome = run(small_settings());
  const PartRates& rates = outcome.report.rows[1].measurement->rates;
  EXPECT_DOUBLE_EQ(rates.forward->microseconds_per_layer_step, 625);
  EXPECT_DOUBLE_EQ(rates.forward->gflops, 429.4967296);
  EXPECT_DOUBLE_EQ(rates.forward->gemm_share, 0.4294967296);
  EXPECT_DOUBLE_EQ(rates.total->gflops, 644.2450944);
  EXPECT_FALSE(rates.backward_weights) << "it took no time at all";
}

TEST_F(RunBench, SaysWhatRanAfterAllTiming) {
  const BenchOutcome outcome = run(small_settings());
  EXPECT_EQ(outcome.report.rows[0].path, "the path of naive");
  EXPECT_EQ(outcome.report.rows[1].kernels.at(0).name, "gemm");
  EXPECT_EQ(outcome.report.rows[1].peak_memory_bytes, 3 << 20);
  const std::vector<std::string> end(backend_.log.end() - 3, backend_.log.end());
  expect_golden(end);
}

TEST_F(RunBench, ARefusalIsARowAndNotAnEnd) {
  backend_.refused[LayerKind::kFused] = "layer: fused cannot do this";
  const BenchOutcome outcome = run(small_settings());
  EXPECT_EQ(outcome.exit_code, ExitCode::kDone);
  expect_golden(outcome.report.rows[1].reason);
  EXPECT_FALSE(outcome.report.rows[1].measurement);
  EXPECT_TRUE(outcome.report.rows[0].measurement);
  EXPECT_EQ(count_in_log("inspect"), 1u);
}

TEST_F(RunBench, AFailureWhileRunningIsARowToo) {
  backend_.broken[LayerKind::kNaive] = "out of memory\n  advice for an experiment";
  const BenchOutcome outcome = run(small_settings());
  EXPECT_EQ(outcome.report.rows[0].reason, "out of memory");
  ASSERT_TRUE(outcome.report.rows[1].measurement);
  EXPECT_FALSE(outcome.report.rows[1].measurement->speedup_forward) << "there is nothing to be faster than";
}

TEST_F(RunBench, ACombinationThatTheMachineCannotDoIsRowsWithTheReason) {
  backend_.unavailable = "device: got cuda, but LibTorch finds no CUDA GPU";
  BenchSettings settings = small_settings();
  settings.device = {"cuda"};
  const BenchOutcome outcome = run(settings);
  ASSERT_THAT(outcome.report.rows, SizeIs(2));
  for (const BenchRow& row : outcome.report.rows) EXPECT_EQ(row.reason, backend_.unavailable);
  EXPECT_EQ(outcome.report.rows[0].key.device, "cuda");
  EXPECT_EQ(outcome.exit_code, ExitCode::kDevice) << "nothing was measured";
}

TEST_F(RunBench, WhereNothingWasMeasuredTheFirstReasonDecidesTheExitCode) {
  backend_.refused = {{LayerKind::kNaive, "no"}, {LayerKind::kFused, "no"}};
  EXPECT_EQ(run(small_settings()).exit_code, ExitCode::kUsage);
}

TEST_F(RunBench, TheCeilingIsMeasuredOnceForADeviceAndPrecision) {
  BenchSettings settings = small_settings();
  settings.precision = {Precision::kFp32, Precision::kBf16};
  settings.hidden_size = {128, 256};
  const BenchOutcome outcome = run(settings);
  EXPECT_EQ(count_in_log("ceiling"), 2u);
  EXPECT_THAT(outcome.report.ceilings, SizeIs(2));
  EXPECT_THAT(outcome.report.rows, SizeIs(8));
}

TEST_F(RunBench, TellsTheProgressOfEveryCombination) {
  BenchSettings settings = small_settings();
  settings.device = {"auto"};
  settings.hidden_size = {128, 256};
  backend_.refused[LayerKind::kFused] = "no";
  run(settings);
  expect_golden(progress_);
}

TEST_F(RunBench, TellsEachSampleOfACombination) {
  BenchSettings settings = small_settings();
  settings.warmup = 1;
  run(settings);
  constexpr size_t kTotal = 2 + (6 + 1) * 2 * 3;  // layers, and rounds of three passes of each
  ASSERT_THAT(samples_, SizeIs(kTotal + 1));
  EXPECT_THAT(std::span(samples_).first(4),
              ElementsAre("[1/1] 0 of 44", "[1/1] 1 of 44", "[1/1] 2 of 44", "[1/1] 2 of 44"));
  EXPECT_EQ(samples_.back(), "[1/1] 43 of 44");
}

TEST_F(RunBench, TellsOfMoreRoundsForMinSecondsHowMuchOfTheTimeIsOver) {
  BenchSettings settings = small_settings();
  settings.warmup = 0;
  settings.repeats = 1;
  settings.min_seconds = 21;  // a round takes 5.25 s
  run(settings);
  ASSERT_THAT(samples_, SizeIs(1 + 2 + 4 * 2 * 3));
  EXPECT_EQ(samples_[3 + 6], "[1/1] 3 of 8") << "after a round of four";
  EXPECT_EQ(samples_[3 + 12], "[1/1] 5 of 8");
}

TEST(WorkText, SaysHowLongABenchmarkTakesAtLeast) {
  BenchSettings settings = small_settings();
  settings.warmup = 4;
  settings.sample_seconds = 0.5;
  expect_golden(work_text(settings));
  settings.hidden_size = {128, 256};
  settings.processes = 5;
  expect_golden(work_text(settings));
}

TEST_F(RunBench, DoubtsAboutTheMachineStandInTheRows) {
  backend_.warnings_to_report = {{warning::kGpuThrottled, "GPU 0 was THROTTLED"}};
  const BenchOutcome outcome = run(small_settings());
  for (const BenchRow& row : outcome.report.rows) EXPECT_THAT(texts_of(row.notes), ElementsAre("GPU 0 was THROTTLED"));
}

TEST_F(RunBench, TheRowsOfACombinationShareItsComputedSeconds) {
  const Measurement measurement = *run(small_settings()).report.rows[1].measurement;
  EXPECT_EQ(measurement.wall_seconds, 2);
  EXPECT_EQ(measurement.cpu_seconds, 1.5);
  EXPECT_THAT(measurement.rounds_by_process, ElementsAre(6));
}

TEST_F(RunBench, NotKnowingWhatRanIsANote) {
  backend_.inspection_error = "no profiler";
  const BenchOutcome outcome = run(small_settings());
  expect_golden(texts_of(outcome.report.rows[0].notes));
  EXPECT_TRUE(outcome.report.rows[0].measurement);
}

TEST_F(RunBench, NoMemoryForALookAtWhatRanIsANoteInEachMeasuredRow) {
  backend_.refused[LayerKind::kFused] = "no";
  backend_.num_begins = 1;
  const BenchOutcome outcome = run(small_settings());
  ASSERT_THAT(outcome.report.rows, SizeIs(2));
  expect_golden(texts_of(outcome.report.rows[0].notes));
  EXPECT_TRUE(outcome.report.rows[0].measurement);
  EXPECT_THAT(outcome.report.rows[1].notes, IsEmpty());
  EXPECT_EQ(outcome.exit_code, ExitCode::kDone);
}

TEST_F(RunBench, WithoutACeilingTheTimesRemain) {
  backend_.ceiling_error = "out of memory\n  advice for an experiment";
  const BenchOutcome outcome = run(small_settings());
  ASSERT_THAT(outcome.report.rows, SizeIs(2));
  for (const BenchRow& row : outcome.report.rows) {
    ASSERT_TRUE(row.measurement) << row.reason;
    EXPECT_THAT(row.measurement->samples.all, SizeIs(6));
    EXPECT_FALSE(row.measurement->rates.forward);
    expect_golden(texts_of(row.notes));
  }
  EXPECT_THAT(outcome.report.ceilings, IsEmpty());
  EXPECT_EQ(count_in_log("ceiling"), 1u);
}

TEST_F(RunBench, AfterASignalWhatWasMeasuredRemains) {
  BenchSettings settings = small_settings();
  settings.hidden_size = {128, 256};
  settings.warmup = 0;
  run(settings);
  // begin, 2 x 3 passes twice, 6 rounds of 6, and the ceiling precede the second combination.
  stop_after_ = 1 + 12 + 36 + 1 + 3;
  backend_.log.clear();
  const BenchOutcome outcome = run(settings);
  ASSERT_THAT(outcome.report.rows, SizeIs(4));
  EXPECT_TRUE(outcome.report.rows[0].measurement);
  expect_golden(outcome.report.rows[2].reason);
  EXPECT_THAT(outcome.report.rows[0].path, IsEmpty());
}

}  // namespace
}  // namespace rnnlab
