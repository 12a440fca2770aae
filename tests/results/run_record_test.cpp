// SPDX-License-Identifier: Apache-2.0
#include "results/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/expect_error.h"
#include "base/system/json_fields.h"
#include "base/system/temporary_folder.h"
#include "base/text.h"
#include "golden.h"
#include "results/comparison.h"
#include "results/epoch_log.h"
#include "results/epoch_row.h"
#include "results/run_folder.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

RunRecord trained_run(const std::string& process) {
  RunRecord run = process_record(process, {1, 2, 3});
  run.environment.start_time = "2026-11-21T02:59:51Z";
  run.config = {{"layer", "naive"}};
  return run;
}

RunRecord run_with_validation(std::vector<double> losses, std::vector<double> accuracies) {
  RunRecord run = trained_run("p");
  run.summary.epochs = 3;
  for (size_t i = 0; i < 3; ++i) {
    run.rows[i].valid_loss = losses[i];
    run.rows[i].metrics["valid_accuracy"] = accuracies[i];
  }
  return run;
}

TEST(BestRow, IsTheEpochWhoseWeightsTheRunKeeps) {
  RunRecord run = run_with_validation({0.5, 0.2, 0.3}, {0.5, 0.8, 0.9});
  EXPECT_EQ(best_row(run).value().epoch, 2);
  run.config["training.early_stopping"] = "valid_accuracy";
  EXPECT_EQ(best_row(run).value().epoch, 3);
  run.config["training.min_delta"] = "0.2";
  EXPECT_EQ(best_row(run).value().epoch, 2);
  run.config["checkpoint.best"] = "false";
  EXPECT_FALSE(best_row(run));
}

TEST(BestRow, IsNeverAnEpochThatWasCutShort) {
  RunRecord run = run_with_validation({0.5, 0.3, 0.2}, {0, 0, 0});
  run.summary.epochs = 2;
  EXPECT_EQ(best_row(run).value().epoch, 2);
  for (EpochRow& row : run.rows) row.valid_loss.reset();
  run.rows[0].train_loss = -1;
  EXPECT_EQ(best_row(run).value().epoch, 1) << "by the training loss, without validation";
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

}  // namespace
namespace {

using ::testing::ElementsAre;

RunRecord run(const std::string& folder, const std::string& started) {
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
  EXPECT_THAT(order_of({run("runs/rows/51Z-cpu-fused", "2026-11-21T02:59:51.700Z"),
                        run("runs/rows/51Z-cpu-naive", "2026-11-21T02:59:51.079Z"),
                        run("runs/rows/52Z-cpu-naive", "2026-11-21T02:59:52.100Z")}),
              ElementsAre("runs/rows/51Z-cpu-naive", "runs/rows/51Z-cpu-fused", "runs/rows/52Z-cpu-naive"));
}

TEST(RunOrder, IsOtherwiseTheOneInWhichRunsWereNamed) {
  EXPECT_THAT(order_of({run("runs/b/x", "2026-11-21T02:59:52.100Z"), run("runs/b/y", "2026-11-21T02:59:51.100Z"),
                        run("runs/c/z", "2026-11-21T02:59:51.000Z")}),
              ElementsAre("runs/b/x", "runs/b/y", "runs/c/z"));
}

// The order in a round is random, so any run may start first.
TEST(RunOrder, OfAMeasurementIsThatOfTheSweep) {
  std::vector<RunRecord> runs;
  for (const int64_t number : {2, 1, 1, 2}) {
    runs.push_back(run(std::to_string(runs.size()), "2026-11-21T02:59:5" + std::to_string(runs.size()) + ".000Z"));
    runs.back().summary.turn = {.process = "p", .measurement = "m", .case_number = number};
  }
  EXPECT_THAT(order_of(runs), ElementsAre("1", "2", "0", "3"));
}

TEST(StartByLog, IsTheFirstLinesTime) {
  const TemporaryFolder folder;
  EXPECT_EQ(start_by_log(folder.path()), "");
  write_text(folder.path() / "train.log", "2026-11-21T02:59:51.079Z info    run       runs/rows\n");
  EXPECT_EQ(start_by_log(folder.path()), "2026-11-21T02:59:51.079Z");
  write_text(folder.path() / "train.log", "what somebody wrote into the log of a run\n");
  EXPECT_EQ(start_by_log(folder.path()), "");
  write_text(folder.path() / "train.log", "2026-11-21");
  EXPECT_EQ(start_by_log(folder.path()), "");
}

}  // namespace

// These tests change files of a run's folder after its end and check the warning of a comparison.

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

constexpr const char* kEditedSummary =
    "summary.json was changed after it was written; do not use its numbers; restore the file, or train again";
constexpr const char* kBrokenSeal =
    "epochs.csv was changed after summary.json sealed its rows; do not use its numbers; restore the file, or train "
    "again";

class ChangedFiles : public ::testing::Test {
 protected:
  ChangedFiles() { sample_run("cpu", "fused", 1, {9, 2.0, 2.2, 2.1}).write(run_); }

  void replace(const char* file, const std::string& from, const std::string& to) const {
    std::string text = read_text(run_ / file);
    ASSERT_NE(text.find(from), std::string::npos) << from;
    write_text(run_ / file, text.replace(text.find(from), from.size(), to));
  }
  void change_csv(const std::function<void(EpochRow&)>& change) const {
    std::vector<EpochRow> rows = read_epochs(run_);
    std::string csv = epoch_csv_header();
    for (EpochRow& row : rows) {
      change(row);
      csv += epoch_csv_line(row);
    }
    write_text(run_ / kEpochsCsvFile, csv);
  }
  // Writes the summary as a version before 3 did.
  void make_old() const {
    Json json = Json::parse(read_text(run_ / kSummaryFile));
    json["schema_version"] = 2;
    for (const char* key :
         {"ending", "turn", "rows_sha256", "settings_sha256", "environment_sha256", "was_resumed", kSealKey})
      json.erase(key);
    json["identity"].erase("conditions");
    write_text(run_ / kSummaryFile, json.dump());
  }
  std::vector<Warning> changes() const { return load_run(run_).changed; }
  std::vector<std::string> changed_texts() const { return texts_of(changes()); }

  TemporaryFolder folder_;
  std::filesystem::path run_ = folder_.path() / "run";
};

TEST_F(ChangedFiles, AreNoneInARunAsItIsWritten) {
  EXPECT_THAT(changes(), IsEmpty());
  make_old();
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(ChangedFiles, AreReportedByACompare) {
  replace(kSummaryFile, "\"fit_seconds\": ", "\"fit_seconds\": 1");
  const auto warnings = compare({load_run(run_)}, {}).warnings;
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings[0], (Warning{"edited_summary", std::string("cpu fused: ") + kEditedSummary}));
}

// ---- rows ----

TEST_F(ChangedFiles, HalvedTimesAreReported) {
  change_csv([](EpochRow& row) {
    row.train_seconds /= 2;
    row.samples_per_second *= 2;
  });
  replace(kSummaryFile, "\"median_seconds\": 2.1", "\"median_seconds\": 1.05");
  expect_golden(changed_texts());
}

TEST_F(ChangedFiles, OneDigitOfATimeIsReported) {
  replace(kEpochsCsvFile, ",2.2,", ",2.3,");
  expect_golden(changed_texts());
}

TEST_F(ChangedFiles, ATimeWithItsSamplesPerSecondIsReported) {
  change_csv([](EpochRow& row) {
    if (row.epoch != 3) return;
    row.train_seconds *= 2.5;
    row.samples_per_second /= 2.5;
  });
  EXPECT_THAT(changes(), ElementsAre(Warning{warning::kBrokenSeal, kBrokenSeal}, ::testing::_));
}

TEST_F(ChangedFiles, EqualChangesInBothFilesOfRowsBreakTheSeal) {
  replace(kEpochsCsvFile, ",2.2,", ",2.3,");
  replace(kEpochsJsonlFile, "\"train_seconds\":2.2,", "\"train_seconds\":2.3,");
  EXPECT_THAT(changed_texts(), ElementsAre(kBrokenSeal));
}

TEST_F(ChangedFiles, AMissingEpochsJsonlIsReported) {
  std::filesystem::remove(run_ / kEpochsJsonlFile);
  expect_golden(changes());
  make_old();
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(ChangedFiles, RowsOfAnOldRunAreHeldAgainstEachOther) {
  make_old();
  replace(kEpochsCsvFile, ",2.2,", ",2.3,");
  expect_golden(changed_texts());
}

// ---- summary.json ----

TEST_F(ChangedFiles, ASummaryWithoutItsHashesIsReported) {
  Json json = Json::parse(read_text(run_ / kSummaryFile));
  json["settings_sha256"] = "";
  write_text(run_ / kSummaryFile, json.dump());
  expect_golden(changed_texts());
}

TEST_F(ChangedFiles, AnEditedSummaryIsReported) {
  for (const auto& [from, to] : {std::pair("\"low_seconds\": 2.0", "\"low_seconds\": 2.05"),
                                 {"\"path\": \"oneDNN reference\"", "\"path\": \"cuDNN persistent\""},
                                 {"\"stop_reason\": \"all", "\"stop_reason\": \"nearly all"}}) {
    replace(kSummaryFile, from, to);
    EXPECT_THAT(changes(), ElementsAre(Warning{warning::kEditedSummary, kEditedSummary})) << from;
    replace(kSummaryFile, to, from);
    EXPECT_THAT(changes(), IsEmpty());
  }
}

// ---- config.yaml ----

TEST_F(ChangedFiles, DifferentSettingsAreReported) {
  replace(kConfigFile, "hidden_size: 128", "hidden_size: 16");
  expect_golden(changes());
}

TEST_F(ChangedFiles, CommentsAndPathsMayChange) {
  replace(kConfigFile, "# units", "# how many");
  replace(kConfigFile, "training:", "data:\n  path: /elsewhere\ntraining:");
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(ChangedFiles, HashesOfDifferentSettingsAreReported) {
  SampleRun run = sample_run("cpu", "fused", 1, {9, 2.0, 2.2, 2.1});
  run.summary.identity.model_hash = "that of hidden size 64";
  run.write(folder_.path() / "other");
  expect_golden(load_run(folder_.path() / "other").changed);
}

TEST_F(ChangedFiles, AnEditedEnvironmentIsReported) {
  replace(kEnvironmentFile, "\"usable_cpus\": 2", "\"usable_cpus\": 4");
  expect_golden(changed_texts());
}

TEST(LoadRun, SaysWhatIsNoFinishedRun) {
  const TemporaryFolder folder;
  const std::string wanted = ", expected a folder that `rnnlab train` made, such as runs/NAME/START-DEVICE-LAYER";
  const auto expect = [&](const std::string& name, const std::string& message) {
    expect_error(ExitCode::kUsage, folder.name(name) + message, [&] { load_run(folder.path() / name); });
  };
  expect("none", ": no such folder" + wanted);
  write_text(folder.path() / "file", "");
  expect("file", ": not the folder of a run (summary.json is missing)" + wanted);
  write_text(folder.path() / "other" / "file", "");
  expect("other", ": not the folder of a run (summary.json is missing)" + wanted);
  write_text(folder.path() / "run" / "epochs.csv", "");
  expect("run",
         ": the run has not ended yet, or was killed (summary.json is missing): wait, or resume it: "
         "rnnlab train --resume " +
             shell_quoted(folder.name("run")));
}

// A finished run with these validation losses, which trained for all of its epochs.
RunRecord record_of_losses(const std::vector<double>& losses) {
  RunRecord run;
  run.folder = "runs/rows/a";
  run.config["training.epochs"] = std::to_string(losses.size());
  run.summary.epochs = std::ssize(losses);
  for (const double loss : losses) {
    run.rows.push_back(testing::sample_row(std::ssize(run.rows) + 1, 1.0));
    run.rows.back().valid_loss = loss;
    run.rows.back().metrics.erase("valid_accuracy");
  }
  return run;
}

TEST(TrainLongerAdvice, IsForARunWhoseLastEpochIsTheBestAndStillImproved) {
  expect_golden(train_longer_advice(record_of_losses({1, 0.8, 0.7})));
  EXPECT_TRUE(train_longer_advice(record_of_losses({1, 1.2, 0.9}))) << "the best before was the first";
  EXPECT_FALSE(train_longer_advice(record_of_losses({1, 0.7, 0.8}))) << "an earlier epoch is the best";
  EXPECT_FALSE(train_longer_advice(record_of_losses({1, 0.5, 0.4999}))) << "it has converged";
  EXPECT_FALSE(train_longer_advice(record_of_losses({1}))) << "one epoch shows no trend";
  EXPECT_FALSE(train_longer_advice(record_of_losses({1, std::nan("")})));
}

TEST(TrainLongerAdvice, IsNotForARunThatEndedForAnotherReason) {
  RunRecord run = record_of_losses({1, 0.8, 0.7});
  run.config["training.epochs"] = "10";
  EXPECT_FALSE(train_longer_advice(run)) << "a budget of steps or seconds";
  run = record_of_losses({1, 0.8, 0.7});
  run.summary.ending = RunEnding::kInterrupted;
  EXPECT_FALSE(train_longer_advice(run));
  run = record_of_losses({1, 0.8, 0.7});
  run.summary.target = TargetRecord{.stop_at = {{"valid_loss", 0.75}}, .epoch = 3, .train_seconds = 3};
  EXPECT_FALSE(train_longer_advice(run)) << "it reached what it trained for";
  run = record_of_losses({1, 0.8, 0.7});
  for (EpochRow& row : run.rows) row.valid_loss.reset();
  EXPECT_FALSE(train_longer_advice(run)) << "a training loss falls with every epoch";
  run = record_of_losses({1, 0.8, 0.7});
  run.config["training.early_stopping"] = "valid_accuracy";
  for (EpochRow& row : run.rows) row.metrics["valid_accuracy"] = row.epoch < 3 ? 0.9 : 1.0;
  EXPECT_FALSE(train_longer_advice(run)) << "no accuracy is better than 1";
}

}  // namespace
}  // namespace rnnlab::testing
