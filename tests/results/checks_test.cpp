// SPDX-License-Identifier: Apache-2.0
// Each test plants a wrong record, as a bug, a mistake or a manipulation leaves it, into runs that are otherwise
// comparable: a warning of the comparison names it.
#include "results/checks.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "results/compared_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

using Runs = std::vector<RunRecord>;  // of the layers naive and fused

struct Planted {
  void (*plant)(Runs&);
  std::vector<std::string> kinds;
};

void change_rows(RunRecord& run, void (*change)(EpochRow&)) {
  for (EpochRow& row : run.rows) change(row);
}

const Planted kPlanted[] = {
    {[](Runs& runs) { runs[1].rows[3].samples_per_second /= 2; }, {warning::kUnequalEpochs}},
    // the identity in the summary
    {[](Runs& runs) { runs[1].config["training.batch_size"] = "256"; }, {warning::kWrongIdentity}},
    {[](Runs& runs) { runs[1].summary.identity.conditions.kernel = "another"; }, {warning::kWrongIdentity}},
    {[](Runs& runs) { runs[1].environment.build.optimized = false; }, {warning::kSlowBuild, warning::kWrongIdentity}},
    {[](Runs& runs) {
       runs[1].environment.cpu.model = "Other CPU";
       runs[1].environment.num_threads = 1;
     },
     {warning::kWrongIdentity, warning::kWrongIdentity}},
    {[](Runs& runs) {
       for (RunRecord& run : runs) run.summary.identity.precision = "fp32 with tf32 in cuDNN only";
     },
     {warning::kOtherPrecision}},
    // a GPU that others used
    {[](Runs& runs) { runs[1].environment.nvidia.gpus[0].utilization_percent = 80; }, {warning::kGpuBusy}},
    {[](Runs& runs) { runs[1].environment.nvidia.gpus[0].compute_pids = {42}; }, {warning::kGpuShared}},
    {[](Runs& runs) {
       runs[1].summary.warnings = {{warning::kGpuShared, "it was shared"}};
     },
     {warning::kGpuShared}},
    // warm-up that counts
    {[](Runs& runs) {
       for (RunRecord& run : runs) {
         run.rows[0].warmup = false;
         run.summary.epoch_time = epoch_time(run.rows);
       }
     },
     {warning::kWarmupCounted}},
    {[](Runs& runs) {
       change_rows(runs[1], [](EpochRow& row) { row.warmup = false; });
       runs[1].summary.epoch_time = epoch_time(runs[1].rows);
       runs[1].rows[0].warmup = true;
     },
     {warning::kWrongMedian}},
    {[](Runs& runs) {
       for (RunRecord& run : runs) run.config["training.warmup_epochs"] = "2";
     },
     {warning::kWarmupNotMarked}},
    // a timer that does not wait for the GPU, counts work of before, or has nothing beside it
    {[](Runs& runs) { change_rows(runs[1], [](EpochRow& row) { row.device_seconds = 3 * row.train_seconds; }); },
     {warning::kUnsynchronisedTimer}},
    {[](Runs& runs) { change_rows(runs[1], [](EpochRow& row) { row.device_seconds = 0.9 * row.train_seconds; }); },
     {warning::kUnsynchronisedTimer}},
    {[](Runs& runs) { runs[1].rows[2].device_seconds = std::nullopt; }, {warning::kUnprovenTimer}},
    // sums
    {[](Runs& runs) { runs[1].summary.fit_seconds = 40; }, {warning::kMissingTime}},
    {[](Runs& runs) { runs[1].summary.fit_seconds = 10; }, {warning::kImpossibleSum}},
    {[](Runs& runs) { runs[1].rows[1].data_seconds = 2; }, {warning::kImpossibleWait}},
    {[](Runs& runs) { runs[1].summary.final_metrics["valid_accuracy"] = 0.99; }, {warning::kWrongSummary}}};

class Checks : public ComparedRuns {};

TEST_F(Checks, FindNothingInRunsAsTheyAreWritten) {
  add_pair([](SampleRun&) {}, "cuda:0");
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Checks, NameWhatWasPlanted) {
  add_pair([](SampleRun&) {}, "cuda:0");
  const Runs unchanged = runs_;
  std::vector<Warning> all;
  for (const Planted& planted : kPlanted) {
    runs_ = unchanged;
    planted.plant(runs_);
    const std::vector<Warning> found = warnings();
    EXPECT_THAT(kinds_of(found), ElementsAreArray(planted.kinds));
    all.insert(all.end(), found.begin(), found.end());
  }
  expect_golden(all);
}

// The shape of the times is that of one run (time_shape.h).
TEST_F(Checks, FindAnOutlier) {
  add_pair([](SampleRun& run) { run.train_seconds = {8, 1.0, 1.1, 1.02, 100, 1.05, 0.98, 1.01, 1.03}; });
  EXPECT_THAT(kinds_of(warnings()), ::testing::ElementsAre(warning::kOutlier));
}

TEST_F(Checks, FindThatAnEpochWasCutOut) {
  add_pair([](SampleRun&) {}, "cuda:0");
  runs_[1].rows.erase(runs_[1].rows.begin());
  EXPECT_THAT(kinds_of(warnings()), ::testing::Contains(warning::kWrongSummary));
}

TEST_F(Checks, FindASeedThatCountsMoreThanAnother) {
  for (const auto& [name, seed] : {std::pair("a", 1), {"b", 2}, {"c", 2}}) {
    SampleRun run = sample_run("cpu", "naive", seed, kSlow);
    run.summary.turn.process = name;
    add(name, run);
  }
  expect_golden(warnings());
}

}  // namespace
}  // namespace rnnlab::testing
