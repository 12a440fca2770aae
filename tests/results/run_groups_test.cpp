// SPDX-License-Identifier: Apache-2.0
// Tests which runs are copies, which count as one group, what the groups are called, and in which order runs are shown.
#include <gmock/gmock.h>

#include <cmath>

#include "results/compared_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;

// ---- copies ----

RunRecord trained_run(const std::string& process) {
  RunRecord run = process_record(process, {1, 2, 3});
  run.environment.start_time = "2026-11-21T02:59:51Z";
  run.config = {{"layer", "naive"}};
  return run;
}

TEST(RunCopy, IsTheSameRunInAnotherFolder) {
  RunRecord copy = trained_run("p");
  copy.folder = "another";
  copy.config["layer"] = "fused";  // as somebody may have changed in the copy
  EXPECT_TRUE(is_copy(trained_run("p"), copy));
}

TEST(RunCopy, HasNotANumberWhereTheRunHas) {
  RunRecord run = trained_run("p"), copy = trained_run("p");
  run.rows[2].train_loss = copy.rows[2].train_loss = std::nan("");
  EXPECT_TRUE(is_copy(run, copy));
}

TEST(RunCopy, IsNoRunOfAnotherProcessStartOrTime) {
  RunRecord later = trained_run("p"), other_time = trained_run("p"), longer = trained_run("p");
  later.environment.start_time = "2026-11-21T02:59:52Z";
  other_time.rows[1].train_seconds = 2.000001;
  longer.rows.emplace_back();
  for (const RunRecord& other : {trained_run("q"), later, other_time, longer})
    EXPECT_FALSE(is_copy(trained_run("p"), other));
}

TEST(RunCopy, OfAnOldRunHasTheSameSettings) {
  RunRecord other_layer = trained_run("");
  other_layer.config["layer"] = "fused";
  EXPECT_TRUE(is_copy(trained_run(""), trained_run("")));
  EXPECT_FALSE(is_copy(trained_run(""), other_layer));
}

TEST(RunCopy, IsNotSeenInRunsWithoutEpochs) {
  RunRecord naive = trained_run("p"), fused = trained_run("p");
  naive.rows.clear();
  fused.rows.clear();
  fused.config["layer"] = "fused";
  EXPECT_FALSE(is_copy(naive, fused));
}

// ---- groups and their labels ----

class RunGroups : public ComparedRuns {};

TEST_F(RunGroups, KeepARunThatDidNotRecordAConditionInItsSide) {
  for (const int64_t round : {1, 2, 3}) {
    SampleRun run = sample_run("cpu", "naive", 1, kSlow);
    run.summary.turn = {.process = std::to_string(round), .measurement = "m", .round = round};
    run.environment.cpu.quota = round == 2 ? "" : "none";
    add("n" + std::to_string(round), run);
  }
  EXPECT_EQ(group_runs(runs_).size(), 1u);
  runs_.back().summary.identity.conditions.cpu_quota = "0.4 CPUs";
  EXPECT_EQ(group_runs(runs_).size(), 2u);
}

TEST_F(RunGroups, KeepTwoVersionsOfTheProgramApart) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  SampleRun newer = sample_run("cpu", "naive", 1, kFast);
  newer.environment.build.git_revision = std::string(40, 'b');
  add("b", newer);
  const auto groups = group_runs(runs_);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].label, folder_.name("a"));
}

TEST_F(RunGroups, HaveEverySettingThatDiffersInTheirLabels) {
  for (const char* threads : {"1", "2"})
    for (const char* data_seed : {"3", "4"}) {
      SampleRun run = sample_run("cpu", "naive", 1, kSlow);
      run.config += fmt::format("  num_threads: {}\ndata:\n  seed: {}\n", threads, data_seed);
      add(fmt::format("{}{}", threads, data_seed), run);
    }
  const auto groups = group_runs(runs_);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].label, "cpu naive seed=3 num_threads=1");
  EXPECT_EQ(groups[3].label, "cpu naive seed=4 num_threads=2");
}

// The layer of an image model is its convolution.
TEST_F(RunGroups, DoNotHaveTheLayerTwiceInTheirLabels) {
  for (const char* layer : {"plain", "fused_pool"}) {
    SampleRun run = sample_run("cpu", layer, 1, kSlow);
    run.config += fmt::format("convolution: {}\n", layer);
    add(layer, run);
  }
  const auto groups = group_runs(runs_);
  EXPECT_EQ(groups[0].label, "cpu plain");
  EXPECT_EQ(groups[1].label, "cpu fused_pool");
}

// ---- order ----

RunRecord run_at(const std::string& folder, const std::string& started) {
  RunRecord record;
  record.folder = folder;
  record.started = started;
  record.environment.start_time = started.substr(0, std::string("2026-11-21T02:59:51").size()) + "Z";
  return record;
}

std::vector<std::string> order_of(const std::vector<RunRecord>& runs) {
  std::vector<std::string> folders;
  for (const RunRecord* record : in_order_of_sweeps(runs)) folders.push_back(record->folder.string());
  return folders;
}

// In a sweep of naive and fused, the folders' names contain the start in whole seconds, so within a second they are
// sorted by layer.
TEST(RunOrder, OfRunsOfOneSecondIsThatOfTheirStarts) {
  EXPECT_THAT(order_of({run_at("runs/rows/51Z-cpu-fused", "2026-11-21T02:59:51.700Z"),
                        run_at("runs/rows/51Z-cpu-naive", "2026-11-21T02:59:51.079Z"),
                        run_at("runs/rows/52Z-cpu-naive", "2026-11-21T02:59:52.100Z")}),
              ElementsAre("runs/rows/51Z-cpu-naive", "runs/rows/51Z-cpu-fused", "runs/rows/52Z-cpu-naive"));
}

TEST(RunOrder, IsOtherwiseTheOneInWhichRunsWereNamed) {
  EXPECT_THAT(order_of({run_at("runs/b/x", "2026-11-21T02:59:52.100Z"), run_at("runs/b/y", "2026-11-21T02:59:51.100Z"),
                        run_at("runs/c/z", "2026-11-21T02:59:51.000Z")}),
              ElementsAre("runs/b/x", "runs/b/y", "runs/c/z"));
}

// The order in a round is random, so any run may start first.
TEST(RunOrder, OfAMeasurementIsThatOfTheSweep) {
  std::vector<RunRecord> runs;
  for (const int64_t number : {2, 1, 1, 2}) {
    runs.push_back(run_at(std::to_string(runs.size()), "2026-11-21T02:59:5" + std::to_string(runs.size()) + ".000Z"));
    runs.back().summary.turn = {.process = "p", .measurement = "m", .case_number = number};
  }
  EXPECT_THAT(order_of(runs), ElementsAre("1", "2", "0", "3"));
}

}  // namespace
}  // namespace rnnlab::testing
