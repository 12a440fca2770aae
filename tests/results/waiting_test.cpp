// SPDX-License-Identifier: Apache-2.0
#include "results/waiting.h"
#include "golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::IsEmpty;

// Returns epochs that computed all the time and were not disturbed.
std::vector<EpochRow> witnessed_rows(const std::vector<double>& train_seconds) {
  std::vector<EpochRow> rows = sample_rows(train_seconds);
  for (EpochRow& row : rows) {
    row.warmup = row.epoch == 1;
    row.data_seconds = 0;
    row.cpu_seconds = row.boot_seconds = row.train_seconds;
    row.steal_seconds = row.throttled_seconds = 0;
  }
  return rows;
}

const std::vector<double> kSeconds = {9, 1.0, 1.1, 0.9, 1.0};

std::vector<std::string> warning_texts(const std::vector<EpochRow>& rows, const std::string& device = "cpu",
                                       int64_t num_threads = 1) {
  return texts_of(waiting_warnings(rows, device, num_threads));
}

TEST(Waiting, IsNotSeenWhereEpochsComputed) {
  EXPECT_THAT(warning_texts(witnessed_rows(kSeconds)), IsEmpty());
  EXPECT_THAT(warning_texts(sample_rows(kSeconds)), IsEmpty()) << "of an old file, without witnesses";
  EXPECT_THAT(warning_texts({}), IsEmpty());
}

TEST(Waiting, OfAProcessThatWasStoppedIsSeenByItsCpuTime) {
  std::vector<EpochRow> rows = witnessed_rows(kSeconds);
  for (EpochRow& row : rows) row.cpu_seconds = row.train_seconds / 4;
  expect_golden(warning_texts(rows));
  EXPECT_EQ(waiting_warnings(rows, "cpu", 1).at(0).kind, warning::kWaited);
}

TEST(Waiting, ForOtherProcessesInTheExchangeIsNone) {
  std::vector<EpochRow> rows = witnessed_rows(kSeconds);
  for (EpochRow& row : rows) {
    row.cpu_seconds = row.train_seconds / 4;
    row.exchange_seconds = row.train_seconds * 3 / 4;
  }
  EXPECT_THAT(warning_texts(rows), IsEmpty());
  for (EpochRow& row : rows) row.exchange_seconds = row.train_seconds / 4;
  EXPECT_THAT(warning_texts(rows), ::testing::SizeIs(1));
}

TEST(Waiting, ForDataIsReportedElsewhere) {
  std::vector<EpochRow> rows = witnessed_rows(kSeconds);
  for (EpochRow& row : rows) {
    row.cpu_seconds = row.train_seconds / 4;
    row.data_seconds = 0.75 * row.train_seconds;
  }
  EXPECT_THAT(warning_texts(rows), IsEmpty());
}

TEST(Waiting, OfTheHostOfAGpuIsUsual) {
  std::vector<EpochRow> rows = witnessed_rows(kSeconds);
  for (EpochRow& row : rows) row.cpu_seconds = row.train_seconds / 4;
  EXPECT_THAT(warning_texts(rows, "cuda:0"), IsEmpty());
}

TEST(Waiting, OfSomeEpochsIsSeenBesideTheOthers) {
  std::vector<EpochRow> rows = witnessed_rows({9, 1, 1, 3, 1, 1});
  for (EpochRow& row : rows) row.cpu_seconds = 1;
  expect_golden(warning_texts(rows, "cuda:0"));
}

TEST(Waiting, IsNoneWhereSomethingComputedBesideSomeEpochs) {
  std::vector<EpochRow> rows = witnessed_rows({9, 1, 1, 1, 1, 1});
  rows[3].cpu_seconds = 1.9;
  EXPECT_THAT(warning_texts(rows, "cuda:0"), IsEmpty());
}

TEST(Waiting, ForAQuotaIsSeenByWhatItHeld) {
  std::vector<EpochRow> rows = witnessed_rows(kSeconds);
  rows[2].throttled_seconds = 0.5;
  expect_golden(warning_texts(rows));
  rows[2].throttled_seconds = 0.1;
  EXPECT_THAT(warning_texts(rows), IsEmpty());
}

TEST(Waiting, ForAHypervisorIsSeenByTheCpusThatTheRunNeeds) {
  std::vector<EpochRow> rows = witnessed_rows(kSeconds);
  rows[2].steal_seconds = 0.5;
  expect_golden(warning_texts(rows));
  EXPECT_THAT(warning_texts(rows, "cpu", 8), IsEmpty());
}

TEST(Waiting, AClockThatTheKernelBeliesIsNamed) {
  std::vector<EpochRow> rows = witnessed_rows(kSeconds);
  for (EpochRow& row : rows) row.boot_seconds = row.cpu_seconds = 4 * row.train_seconds;
  expect_golden(warning_texts(rows));
  EXPECT_EQ(waiting_warnings(rows, "cpu", 1).at(0).kind, warning::kOtherClock);
}

TEST(Waiting, LooksAtEpochsThatCount) {
  std::vector<EpochRow> rows = witnessed_rows(kSeconds);
  rows[0].boot_seconds = 90;
  rows[0].cpu_seconds = 0;
  rows[0].throttled_seconds = rows[0].steal_seconds = 9;
  EXPECT_THAT(warning_texts(rows), IsEmpty());
}

// ---- within a side ----

// Returns a group with one run for each part. A part is the CPU seconds of a run for each second of its epochs.
RunGroup side_of(const std::vector<double>& parts, std::vector<RunRecord>& runs) {
  for (const double part : parts) {
    RunRecord& run = runs.emplace_back();
    run.folder = "runs/" + std::to_string(runs.size());
    run.summary.device = "cpu";
    run.rows = witnessed_rows(kSeconds);
    for (EpochRow& row : run.rows) row.cpu_seconds = part * row.train_seconds;
  }
  RunGroup group{.label = "cpu fused", .runs = {}};
  for (const RunRecord& run : runs) group.runs.push_back(&run);
  return group;
}

TEST(WaitingWithin, ARunThatComputedLessThanItsRepeatsIsNamed) {
  std::vector<RunRecord> runs, alike, two;
  expect_golden(texts_of(merged(waiting_within(side_of({2, 1.9, 1}, runs)))));
  EXPECT_THAT(waiting_within(side_of({2, 1.9, 1.7}, alike)), IsEmpty());
  EXPECT_THAT(waiting_within(side_of({2, 1}, two)), IsEmpty()) << "either may be the exception";
}

// ---- between the sides ----

class WaitingBetween : public ::testing::Test {
 protected:
  RunRecord run(const std::string& device, double part) const {
    RunRecord record;
    record.summary.device = device;
    record.rows = witnessed_rows(kSeconds);
    for (EpochRow& row : record.rows) row.cpu_seconds = part * row.train_seconds;
    return record;
  }
  std::vector<std::string> warning_texts(const RunRecord& a, const RunRecord& b) const {
    return texts_of(merged(waiting_between({"cuda:0 naive", {&a}}, {"cuda:0 fused", {&b}})));
  }
};

TEST_F(WaitingBetween, TheSideWhoseHostComputedLessIsNamed) {
  expect_golden(warning_texts(run("cuda:0", 1), run("cuda:0", 0.3)));
  EXPECT_THAT(warning_texts(run("cuda:0", 1), run("cuda:0", 0.8)), IsEmpty());
}

TEST_F(WaitingBetween, ACpuComputesWhereAGpusHostMayWait) {
  EXPECT_THAT(warning_texts(run("cpu", 2), run("cuda:0", 0.3)), IsEmpty());
}

// ---- stragglers ----

// Returns epochs of 2 s with half a second of exchange. `quotient` is the time of the slowest process over that of the
// fastest. The first epoch is warm-up.
std::vector<EpochRow> rows_of_processes(const std::vector<double>& quotients) {
  std::vector<EpochRow> rows = sample_rows(std::vector<double>(quotients.size(), 2));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].exchange_seconds = 0.5;
    rows[i].slowest_process_seconds = 1.5;
    rows[i].fastest_process_seconds = 1.5 / quotients[i];
  }
  rows[0].warmup = true;
  return rows;
}

TEST(Straggler, IsNoneInARunOfOneProcess) {
  EXPECT_FALSE(slowest_over_fastest(sample_rows({9, 2, 2})));
  EXPECT_FALSE(exchange_share(sample_rows({9, 2, 2})));
  EXPECT_THAT(straggler_warnings(sample_rows({9, 2, 2})), IsEmpty());
}

TEST(Straggler, IsReportedByTheMedianEpoch) {
  const auto warnings = straggler_warnings(rows_of_processes({1, 1.5, 1.25, 1.0}));
  expect_golden(texts_of(warnings));
  EXPECT_EQ(warnings.at(0).kind, warning::kStraggler);
}

TEST(Straggler, IsNoneForATwentiethOrOneEpoch) {
  EXPECT_THAT(straggler_warnings(rows_of_processes({9, 1.04, 1.04, 1.04})), IsEmpty());
  EXPECT_THAT(straggler_warnings(rows_of_processes({1, 1, 3, 1})), IsEmpty());
  EXPECT_THAT(straggler_warnings(rows_of_processes({1, 1.06, 1.06, 1})), ::testing::SizeIs(1));
}

TEST(Straggler, IsNoneWhereNothingWasComputed) {
  std::vector<EpochRow> rows = rows_of_processes({1, 1});
  rows[1].fastest_process_seconds = 0;
  EXPECT_THAT(straggler_warnings(rows), IsEmpty());
}

TEST(ExchangeShare, IsOfTheMedianEpochAfterWarmUp) {
  std::vector<EpochRow> rows = rows_of_processes({1, 1, 1, 1});
  rows[0].exchange_seconds = 2;
  rows[3].exchange_seconds = 1;
  EXPECT_EQ(exchange_share(rows), 0.25);
}

}  // namespace
}  // namespace rnnlab::testing
