// SPDX-License-Identifier: Apache-2.0
#include "runs/auto_resume.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "runs/resumed_run.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::exactly;
using testing::expect_error;
using testing::final_state;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::write_text;

class AutoResume : public testing::ResumedRun {
 protected:
  static ExperimentCase wanted(const std::vector<std::string>& overrides) {
    return testing::cases_of(testing::kTinyYaml, overrides).front();
  }

  FoundRun find(const std::vector<std::string>& overrides) const { return find_same_run(wanted(overrides), out()); }

  RunAllOutcome start(const ExperimentCase& one) { return start_or_resume(one, request(), quiet_); }
  RunAllOutcome start(const std::vector<std::string>& overrides) { return start(wanted(overrides)); }
  void train_anew(const ExperimentCase& one) { run_all({one}, request(), quiet_); }

  // Writes a table of two columns, a and b.
  void write_table(const std::string& file) const {
    write_text(out() / file, "a,b\n1,5.5\n2,7.1\n3,6.2\n4,8.3\n2,5.4\n1,8.6\n3,7.7\n2,6.5\n");
  }

  size_t num_runs() const { return run_folders_in(out() / "tiny").size(); }

  RunRequest request() const { return {.out = out()}; }

  Logger quiet_{Verbosity::kQuiet, Terminal{}};
};

TEST_F(AutoResume, StartsResumesAndEndsByOneCommand) {
  expect_golden(find(exactly()).reason);
  const fs::path whole = start(exactly()).finished.at(0).folder;
  const auto ended = start(exactly());
  EXPECT_EQ(ended.exit_code, ExitCode::kDone);
  EXPECT_EQ(ended.finished.at(0).folder, whole);
  EXPECT_EQ(num_runs(), 1U);

  const fs::path stopped = run(exactly(), 6);
  const auto resumed = start(exactly());
  EXPECT_EQ(resumed.exit_code, ExitCode::kDone);
  EXPECT_EQ(resumed.finished.at(0).folder, fs::canonical(stopped));
  EXPECT_EQ(final_state(stopped), final_state(whole));
  EXPECT_EQ(num_runs(), 2U);
}

TEST_F(AutoResume, TakesTheNewestRunWithTheSameSettings) {
  const fs::path first = run(exactly(), 6);
  const fs::path second = run(exactly(), 3);
  run(exactly({"seed=2", "layer=naive"}));
  EXPECT_EQ(find(exactly()).folder, second);
  fs::remove_all(second);
  EXPECT_EQ(find(exactly()).folder, first);
  const FoundRun none = find(exactly({"seed=3", "layer=naive"}));
  EXPECT_EQ(none.state, SameRun::kNone);
  expect_golden(none.reason);
}

TEST_F(AutoResume, TrainsLongerIfTheSettingsAskForIt) {
  const fs::path whole = run(exactly({"training.epochs=5"}));
  const fs::path shorter = run(exactly());
  const FoundRun found = find(exactly({"training.epochs=5"}));
  EXPECT_EQ(found.state, SameRun::kStopped);
  EXPECT_EQ(found.folder, shorter);
  EXPECT_THAT(found.overrides, ElementsAre("training.epochs=5"));
  start(exactly({"training.epochs=5"}));
  EXPECT_EQ(final_state(shorter), final_state(whole));
}

TEST_F(AutoResume, RemovesABoundThatIsNotThereAnyMore) {
  run(exactly({"training.max_steps=5"}));
  EXPECT_EQ(find(exactly({"training.max_steps=5"})).state, SameRun::kEnded);
  EXPECT_THAT(find(exactly()).overrides, ElementsAre("training.max_steps=null"));
  EXPECT_EQ(start(exactly()).finished.at(0).summary.epochs, 3);
}

// The number of threads may be that of a busy CPU.
TEST_F(AutoResume, KeepsWhatTheSettingsLeaveOpen) {
  run({"training.num_threads=1", "checkpoint.keep=3"}, 6);
  EXPECT_THAT(find({}).overrides, IsEmpty());
  EXPECT_THAT(find({"training.num_threads=2"}).overrides, ElementsAre("training.num_threads=2"));
}

TEST_F(AutoResume, KnowsTheChoicesOfAuto) {
  run({"device=auto", "layer=auto"});
  EXPECT_EQ(find({"device=auto", "layer=auto"}).state, SameRun::kEnded);
  EXPECT_EQ(find({"device=auto", "layer=fused"}).state, SameRun::kNone);
}

TEST_F(AutoResume, TakesOtherDataForAnotherRun) {
  for (const char* file : {"old/a.csv", "old/b.csv", "new/a.csv"}) write_table(file);
  const auto on = [&](const std::string& file) {
    const std::string yaml =
        "name: tiny\ndevice: cpu\ndata: {source: csv, task: regression, target: [b], num_valid: 2}\n"
        "model: {kind: sequence_regressor, hidden_size: 2}\ntraining: {epochs: 1, batch_size: 2}\n";
    return testing::cases_of(yaml, {"data.path=" + (out() / file).string()}).front();
  };
  train_anew(on("old/a.csv"));
  EXPECT_EQ(find_same_run(on("old/a.csv"), out()).state, SameRun::kEnded);
  EXPECT_THAT(find_same_run(on("old/b.csv"), out()).reason, HasSubstr(", data.path was "));
  const FoundRun moved = find_same_run(on("new/a.csv"), out());
  EXPECT_EQ(moved.state, SameRun::kStopped) << "the data are compared when the run is resumed";
  EXPECT_THAT(moved.overrides, ElementsAre(StartsWith("data.path=")));
  EXPECT_EQ(start(on("new/a.csv")).exit_code, ExitCode::kDone);
}

// Versions before the keys existed split the data as stratify: false and inputs_from: part do.
TEST_F(AutoResume, KeepsTheSplitOfTheRunUnlessTheSettingsNameAnother) {
  write_table("a.csv");
  const auto on = [&](const std::string& columns, const std::vector<std::string>& overrides) {
    const std::string yaml = fmt::format(
        "name: tiny\ndevice: cpu\ndata: {{source: csv, path: {}, {}, valid_fraction: 0.5}}\n"
        "model: {{kind: {}, hidden_size: 2}}\ntraining: {{epochs: 1, batch_size: 2}}\n",
        (out() / "a.csv").string(), columns,
        columns.find("window") != std::string::npos ? "sequence_regressor" : "sequence_classifier");
    return testing::cases_of(yaml, overrides).front();
  };
  for (const auto& [columns, then, now] :
       {std::tuple("target: [a]", "data.stratify=false", "data.stratify=true"),
        std::tuple("target: [b], window: 2", "data.inputs_from=part", "data.inputs_from=series")}) {
    train_anew(on(columns, {then}));
    EXPECT_EQ(find_same_run(on(columns, {}), out()).state, SameRun::kEnded) << then;
    EXPECT_EQ(find_same_run(on(columns, {now}), out()).state, SameRun::kNone) << then;
  }
}

// The same command in the folder of the files and elsewhere.
TEST_F(AutoResume, KnowsTheFolderOfTheExperimentFile) {
  write_table("a.csv");
  write_text(out() / "tiny.yaml",
             "name: tiny\ndevice: cpu\n"
             "data: {source: csv, train_file: a.csv, task: regression, target: [b], num_valid: 2}\n"
             "model: {kind: sequence_regressor, hidden_size: 2}\ntraining: {epochs: 1, batch_size: 2}\n");
  const auto read_in = [&](const fs::path& folder, const fs::path& file) {
    fs::current_path(folder);
    config::Findings findings;
    auto cases = read_cases(config::Document::from_file_with_base(file.string(), findings), findings);
    EXPECT_THAT(findings.lines(), IsEmpty());
    return cases.front();
  };
  const fs::path before = fs::current_path();
  train_anew(read_in(out(), "tiny.yaml"));
  EXPECT_EQ(find_same_run(read_in(before, out() / "tiny.yaml"), out()).state, SameRun::kEnded);

  ExperimentCase longer = read_in(before, out() / "tiny.yaml");
  longer.experiment.training.epochs = 2;
  EXPECT_THAT(find_same_run(longer, out()).overrides, ElementsAre(HasSubstr(out().string()), "training.epochs=2"));
  EXPECT_EQ(start(longer).finished.at(0).summary.epochs, 2);

  longer = read_in(out(), "tiny.yaml");
  longer.experiment.training.epochs = 3;
  EXPECT_EQ(start(longer).finished.at(0).summary.epochs, 3);
  fs::current_path(before);
}

TEST_F(AutoResume, SaysThatTheRunHasTrainedMore) {
  const fs::path five = run(exactly({"training.epochs=5"}));
  FoundRun found = find(exactly());
  EXPECT_EQ(found.state, SameRun::kEnded);
  expect_golden(found.reason);
  expect_golden(found.advice);
  EXPECT_EQ(start(exactly()).finished.at(0).folder, five);
  found = find(exactly({"training.max_steps=7", "training.epochs=9"}));
  expect_golden(found.reason);
  expect_golden(found.advice);

  const std::vector<std::string> early = {"training.early_stopping=valid_loss", "training.patience=1",
                                          "training.learning_rate=1e-20"};
  const auto more = testing::with(early, {"training.epochs=9"});
  run(early);
  EXPECT_EQ(find(more).state, SameRun::kEnded);
  expect_golden(find(more).reason);
  expect_golden(find(more).advice);
  expect_golden(find(early).advice);
}

TEST_F(AutoResume, RefusesARunThatAnotherProcessTakesMeanwhile) {
  const fs::path stopped = run(exactly(), 6);
  const FolderLock lock(stopped, WhenTaken::kRefuse);
  EXPECT_EQ(resume_all(stopped, {}, request(), quiet_).exit_code, ExitCode::kDevice);
  RunRequest refusing = request();
  refusing.when_taken = WhenTaken::kRefuseAtWork;
  EXPECT_EQ(resume_all(stopped, {}, refusing, quiet_).exit_code, ExitCode::kAtWorkElsewhere);
}

TEST_F(AutoResume, LeavesARunToTheProcessThatTrainsIt) {
  const fs::path stopped = run(exactly(), 6);
  const FolderLock lock(stopped, WhenTaken::kRefuse);
  expect_error(ExitCode::kAtWorkElsewhere, [&] { start(exactly()); });
}

TEST_F(AutoResume, DoesNotRepeatARunThatDiverged) {
  const auto wild = exactly({"training.optimizer=sgd", "training.learning_rate=1e38"});
  EXPECT_EQ(start(wild).exit_code, ExitCode::kDiverged);
  EXPECT_EQ(find(wild).state, SameRun::kDiverged);
  EXPECT_THAT(testing::message_of_error(ExitCode::kDiverged, [&] { start(wild); }), HasSubstr(": diverged before "));
}

TEST_F(AutoResume, StartsANewRunIfTheOldOneLeftNoCheckpoint) {
  run(exactly({"checkpoint.save=false"}), 6);
  expect_golden(find(exactly()).reason);
  EXPECT_EQ(start(exactly()).exit_code, ExitCode::kDone);
  EXPECT_EQ(num_runs(), 2U);
}

TEST_F(AutoResume, RestartsARunThatWasKilledBeforeItsFirstCheckpoint) {
  const fs::path killed = run(exactly(), 3);
  fs::remove(killed / kSummaryFile);
  fs::remove_all(killed / kCheckpointsFolder);
  EXPECT_EQ(start(exactly()).finished.at(0).folder, fs::canonical(killed));
  EXPECT_EQ(final_state(killed), final_state(run(exactly())));
}

TEST_F(AutoResume, LeavesOutRunsWhoseSettingsCannotBeRead) {
  const fs::path readable = run(exactly(), 6);
  write_text(run(exactly()) / kConfigFile, "of_a_later_version: 1\n");
  EXPECT_EQ(find(exactly()).folder, readable);
  write_text(readable / kConfigFile, "of_a_later_version: 1\n");
  EXPECT_THAT(find(exactly()).reason, HasSubstr("the settings of 2 runs "));
  EXPECT_THAT(find(exactly()).reason, HasSubstr("of_a_later_version"));
}

TEST_F(AutoResume, SaysWhatToDoAboutADamagedSummary) {
  const fs::path damaged = run(exactly());
  write_text(damaged / kSummaryFile, "{");
  EXPECT_THAT(testing::message_of_error(ExitCode::kData, [&] { find(exactly()); }), HasSubstr("summary.json"));
  fs::remove(damaged / kSummaryFile);
  EXPECT_EQ(start(exactly()).exit_code, ExitCode::kDone);
  EXPECT_TRUE(exists(damaged / kSummaryFile));
}

}  // namespace
}  // namespace rnnlab
