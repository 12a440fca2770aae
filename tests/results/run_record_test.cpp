// SPDX-License-Identifier: Apache-2.0
#include "results/run_record.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "base/system/json_fields.h"
#include "golden.h"
#include "results/compared_runs.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

RunRecord run_with_validation(std::vector<double> losses, std::vector<double> accuracies) {
  RunRecord run = process_record("p", {1, 2, 3});
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
using Json = nlohmann::ordered_json;

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
  std::vector<std::string> kinds() const { return kinds_of(changes()); }

  TemporaryFolder folder_;
  std::filesystem::path run_ = folder_.path() / "run";
};

TEST_F(ChangedFiles, AreNoneInARunAsItIsWritten) {
  EXPECT_THAT(changes(), IsEmpty());
  make_old();
  EXPECT_THAT(changes(), IsEmpty());
}

struct Edit {
  const char *file, *from, *to;
};

// Each of these edits is reported with all that contradicts it, and nothing is once it is taken back.
TEST_F(ChangedFiles, AreReported) {
  std::vector<Warning> all;
  for (const auto& [file, from, to] :
       {Edit{kEpochsCsvFile, ",2.2,", ",2.3,"}, Edit{kSummaryFile, "\"low_seconds\": 2.0", "\"low_seconds\": 2.05"},
        Edit{kSummaryFile, "\"path\": \"oneDNN reference\"", "\"path\": \"cuDNN persistent\""},
        Edit{kSummaryFile, "\"stop_reason\": \"all", "\"stop_reason\": \"nearly all"},
        Edit{kConfigFile, "hidden_size: 128", "hidden_size: 16"},
        Edit{kEnvironmentFile, "\"usable_cpus\": 2", "\"usable_cpus\": 4"}}) {
    replace(file, from, to);
    for (const Warning& change : changes()) all.push_back(change);
    replace(file, to, from);
    EXPECT_THAT(changes(), IsEmpty());
  }
  expect_golden(all);
}

TEST_F(ChangedFiles, AreReportedByACompare) {
  replace(kSummaryFile, "\"fit_seconds\": ", "\"fit_seconds\": 1");
  EXPECT_EQ(compare({load_run(run_)}, {}).warnings.at(0).kind, warning::kEditedSummary);
}

// ---- rows ----

TEST_F(ChangedFiles, RowsAreReportedThoughTheirColumnsAgree) {
  change_csv([](EpochRow& row) {
    row.train_seconds /= 2;
    row.samples_per_second *= 2;
  });
  EXPECT_THAT(kinds(), ElementsAre(warning::kBrokenSeal, warning::kRowsDisagree));
  replace(kSummaryFile, "\"median_seconds\": 2.1", "\"median_seconds\": 1.05");
  EXPECT_THAT(kinds(), ElementsAre(warning::kEditedSummary, warning::kBrokenSeal, warning::kRowsDisagree));
}

TEST_F(ChangedFiles, EqualChangesInBothFilesOfRowsBreakTheSeal) {
  replace(kEpochsCsvFile, ",2.2,", ",2.3,");
  replace(kEpochsJsonlFile, "\"train_seconds\":2.2,", "\"train_seconds\":2.3,");
  EXPECT_THAT(kinds(), ElementsAre(warning::kBrokenSeal));
}

TEST_F(ChangedFiles, AMissingEpochsJsonlIsReported) {
  std::filesystem::remove(run_ / kEpochsJsonlFile);
  EXPECT_THAT(kinds(), ElementsAre(warning::kRowsDisagree));
  make_old();
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(ChangedFiles, RowsOfAnOldRunAreHeldAgainstEachOther) {
  make_old();
  replace(kEpochsCsvFile, ",2.2,", ",2.3,");
  EXPECT_THAT(kinds(), ElementsAre(warning::kRowsDisagree));
}

// ---- settings ----

TEST_F(ChangedFiles, ASummaryWithoutItsHashesIsReported) {
  Json json = Json::parse(read_text(run_ / kSummaryFile));
  json["settings_sha256"] = "";
  write_text(run_ / kSummaryFile, json.dump());
  EXPECT_THAT(kinds(), ElementsAre(warning::kEditedSummary, warning::kEditedConfig));
}

TEST_F(ChangedFiles, HashesOfDifferentSettingsAreReported) {
  SampleRun run = sample_run("cpu", "fused", 1, {9, 2.0, 2.2, 2.1});
  run.summary.identity.model_hash = "that of hidden size 64";
  run.write(folder_.path() / "other");
  expect_golden(load_run(folder_.path() / "other").changed);
}

TEST_F(ChangedFiles, CommentsAndPathsMayChange) {
  replace(kConfigFile, "# units", "# how many");
  replace(kConfigFile, "training:", "data:\n  path: /elsewhere\ntraining:");
  EXPECT_THAT(changes(), IsEmpty());
}

TEST(LoadRun, SaysWhatIsNoFinishedRun) {
  const TemporaryFolder folder;
  write_text(folder.path() / "file", "");
  write_text(folder.path() / "other" / "file", "");
  write_text(folder.path() / "run" / "epochs.csv", "");
  for (const char* name : {"none", "file", "other", "run"})
    expect_error(ExitCode::kUsage, [&] { load_run(folder.path() / name); });
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
