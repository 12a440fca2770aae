#include "experiment/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "experiment/tiny_experiment.h"
#include "results/epoch_log.h"
#include "results/expect_error.h"
#include "results/folder_lock.h"
#include "results/run_ending.h"
#include "results/run_folder.h"
#include "results/temporary_folder.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using testing::cases_of;
using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

// Three epochs of four steps, with dropout, saved at the end of each.
const std::vector<std::string> kExact = {"deterministic=true", "training.num_threads=1", "model.output_dropout=0.3",
                                         "checkpoint.every_seconds=0"};

std::vector<std::string> exactly(const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = kExact;
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

// Raises SIGTERM after a step of a run, the first of them or a later one.
class StopAtStep : public Observer {
 public:
  explicit StopAtStep(int64_t step, int run = 1) : step_(step), run_(run) {}
  void on_run_begin(const RunPlan&) override { --run_; }
  void on_step(const StepProgress& progress) override {
    if (run_ == 0 && progress.step == step_) std::raise(SIGTERM);
  }

 private:
  int64_t step_;
  int run_;
};

struct FinalState {
  std::string model;
  std::string optimizer;
  std::vector<std::string> epochs;  // what was computed, not measured
  std::vector<std::string> json_epochs;

  bool operator==(const FinalState&) const = default;
};

std::string computed_part(const EpochRow& row) {
  return fmt::format("{} {} {} {} {} {} {}", row.epoch, row.train_loss, row.train_accuracy.value_or(-1),
                     row.valid_loss.value_or(-1), row.valid_accuracy.value_or(-1), row.learning_rate,
                     row.gradient_norm.value_or(-1));
}

std::vector<std::string> first_fields(const std::string& jsonl) {
  std::vector<std::string> fields;
  std::istringstream lines(jsonl);
  for (std::string line; std::getline(lines, line);) fields.push_back(line.substr(0, line.find("\"learning_rate\"")));
  return fields;
}

FinalState final_state(const fs::path& run) {
  const auto newest = list_checkpoints(run / kCheckpointsFolder).back();
  const Manifest manifest = verify_checkpoint(newest.path);
  FinalState state{manifest.files.at(kModelFile).sha256, manifest.files.at(kOptimizerFile).sha256, {}, {}};
  for (const EpochRow& row : read_epochs(run)) state.epochs.push_back(computed_part(row));
  state.json_epochs = first_fields(read_text(run / kEpochsJsonlFile));
  return state;
}

void flip_a_byte(const fs::path& file) {
  std::string bytes = read_text(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(file, bytes);
}

class Resume : public ::testing::Test {
 protected:
  RunAllOutcome train(const std::string& yaml, const std::vector<std::string>& overrides,
                      const std::vector<Observer*>& observers = {}) {
    return run_all(cases_of(yaml, overrides), request(observers), logger_);
  }

  // The folder of a run, whole or stopped after that step.
  fs::path run(const std::vector<std::string>& overrides, std::optional<int64_t> stop_at = std::nullopt) {
    StopAtStep stop(stop_at.value_or(-1));
    const auto all = train(kTinyYaml, overrides, {&stop});
    EXPECT_EQ(all.exit_code, stop_at ? ExitCode::kTerminated : ExitCode::kDone);
    return all.finished.at(0).folder;
  }

  RunAllOutcome go_on(const fs::path& what, const std::vector<std::string>& overrides = {},
                      const std::vector<Observer*>& observers = {}) {
    return resume_all(what, overrides, request(observers), logger_);
  }

  void expect_refusal(ExitCode exit_code, const std::string& message, const fs::path& run,
                      const std::vector<std::string>& overrides = {}) {
    expect_error(exit_code, message, [&] { resume_experiment(run, overrides, request({}), logger_); });
    logger_.close_file();
  }

  const fs::path& out() const { return out_.path(); }

 private:
  RunRequest request(const std::vector<Observer*>& observers) const {
    return {.out = out_.path(), .command_line = {}, .console = {}, .observers = observers};
  }

  TemporaryFolder out_;
  Logger logger_{Verbosity::kQuiet, Terminal{}};
};

// ---- going on ----

// Within the first epoch, at the end of one, within the second, before the last step.
TEST_F(Resume, EndsAsIfTheRunHadNeverStopped) {
  const FinalState whole = final_state(run(exactly()));
  ASSERT_EQ(whole.epochs.size(), 3U);
  for (const int64_t step : {1, 4, 6, 11}) {
    SCOPED_TRACE("stopped after step " + std::to_string(step));
    const fs::path stopped = run(exactly(), step);
    const auto all = go_on(stopped);
    EXPECT_EQ(all.exit_code, ExitCode::kDone);
    EXPECT_EQ(all.finished.at(0).folder, fs::canonical(stopped));
    EXPECT_EQ(final_state(stopped), whole);
  }
}

TEST_F(Resume, MoreThanOnce) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path stopped = run(exactly(), 3);
  StopAtStep again(7);
  EXPECT_EQ(go_on(stopped, {}, {&again}).exit_code, ExitCode::kTerminated);
  EXPECT_EQ(read_epochs(stopped).size(), 2U);
  go_on(stopped);
  EXPECT_EQ(final_state(stopped), whole);
}

TEST_F(Resume, FromACheckpointWithinAnEpochWhoseRowsAreTakenBack) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path killed = run(exactly({"checkpoint.every_steps=1", "checkpoint.keep=100"}));
  for (const CheckpointPlace& place : list_checkpoints(killed / kCheckpointsFolder))
    if (place.step > 6) fs::remove_all(place.path);
  fs::remove(killed / kCheckpointsFolder / "best.json");
  const auto all = go_on(killed);
  EXPECT_THAT(all.finished.at(0).summary.path_notes, ::testing::Contains("goes on after step 6, within epoch 2"));
  EXPECT_EQ(final_state(killed), whole);
}

TEST_F(Resume, BeginsAnewBeforeTheFirstCheckpoint) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path killed = run(exactly(), 6);
  fs::remove_all(killed / kCheckpointsFolder);
  fs::remove(killed / kSummaryFile);
  const auto all = go_on(killed);
  EXPECT_THAT(all.finished.at(0).summary.path_notes,
              ::testing::Contains("begins anew: the run was stopped before its first checkpoint"));
  EXPECT_EQ(final_state(killed), whole);
}

TEST_F(Resume, OfARunThatHasEndedTellsOfItAgain) {
  const fs::path done = run(exactly());
  const FinalState before = final_state(done);
  const auto all = go_on(done);
  EXPECT_EQ(all.finished.at(0).summary.stop_reason, "training.epochs (3) are done");
  EXPECT_EQ(final_state(done), before);
}

TEST_F(Resume, RaisesTheEpochs) {
  const FinalState five = final_state(run(exactly({"training.epochs=5"})));
  const fs::path done = run(exactly());
  go_on(done, {"training.epochs=5"});
  EXPECT_EQ(final_state(done), five);
  go_on(done);
  EXPECT_EQ(final_state(done), five) << "the bound is kept";
}

// What its first part left must not pass for its end.
TEST_F(Resume, HasNoSummaryUntilTheRunHasEndedAgain) {
  class LookForSummary : public Observer {
   public:
    explicit LookForSummary(fs::path run) : run_(std::move(run)) {}
    void on_step(const StepProgress&) override { is_there |= fs::exists(run_ / kSummaryFile); }
    bool is_there = false;

   private:
    fs::path run_;
  };
  const fs::path done = run(exactly());
  LookForSummary look(done);
  go_on(done, {"training.epochs=4"}, {&look});
  EXPECT_FALSE(look.is_there);
  EXPECT_TRUE(fs::exists(done / kSummaryFile));
}

TEST_F(Resume, WarnsOfAScheduleThatEndsWithTheRun) {
  const fs::path done = run(exactly({"training.schedule=cosine"}));
  const auto all = go_on(done, {"training.epochs=5"});
  EXPECT_THAT(
      all.finished.at(0).summary.warnings,
      ::testing::Contains("training.schedule cosine ends with the run, so the learning rate goes on as in a run "
                          "with the new bounds"));
}

TEST_F(Resume, FallsBackToTheCheckpointBefore) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path done = run(exactly());
  const fs::path newest = list_checkpoints(done / kCheckpointsFolder).back().path;
  flip_a_byte(newest / kModelFile);
  const auto all = go_on(done);
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  EXPECT_THAT(all.finished.at(0).summary.warnings,
              ::testing::Contains(
                  HasSubstr("a newer checkpoint is not usable: " + newest.string() + "/model.safetensors: SHA-256 ")));
  EXPECT_EQ(final_state(done), whole);
}

// ---- refusals ----

TEST_F(Resume, RefusesWhereNoCheckpointVerifies) {
  const fs::path done = run(exactly());
  for (const CheckpointPlace& place : list_checkpoints(done / kCheckpointsFolder))
    write_text(place.path / kManifestFile, "");
  const auto newest = list_checkpoints(done / kCheckpointsFolder).back().path;
  expect_refusal(ExitCode::kCheckpoint,
                 (done / kCheckpointsFolder).string() + ": none of 2 checkpoints verifies: " + newest.string() +
                     "/manifest.json: its seal, the SHA-256 in its last line, does not fit; the file is damaged or was "
                     "cut off",
                 done);
}

TEST_F(Resume, RefusesOtherSettings) {
  const fs::path stopped = run(exactly(), 6);
  const auto checkpoint = list_checkpoints(stopped / kCheckpointsFolder).back().path.string();
  expect_refusal(
      ExitCode::kUsage,
      checkpoint +
          ": cannot go on with other settings: model.hidden_size was 8 and is 16, training.batch_size was 50 "
          "and is 25; only bounds (training.epochs, max_steps, max_seconds), checkpoint and data.path may "
          "change: restore these, or train anew",
      stopped, {"training.batch_size=25", "model.hidden_size=16"});
  EXPECT_EQ(go_on(stopped).exit_code, ExitCode::kDone) << "a refusal changes nothing";
}

TEST_F(Resume, RefusesAConfigThatWasEdited) {
  const fs::path stopped = run(exactly(), 6);
  const std::string config = read_text(stopped / kConfigFile);
  write_text(stopped / kConfigFile, std::string(config).replace(config.find("seed: 1"), 7, "seed: 2"));
  const auto checkpoint = list_checkpoints(stopped / kCheckpointsFolder).back().path.string();
  expect_refusal(ExitCode::kUsage,
                 checkpoint +
                     ": cannot go on with other settings: seed was 1 and is 2; only bounds (training.epochs, "
                     "max_steps, max_seconds), checkpoint and data.path may change: restore these, or train "
                     "anew",
                 stopped);
}

TEST_F(Resume, RefusesOtherData) {
  const std::string rows = "1,10,rose\n2,10,lily\n3,10,rose\n4,20,lily\n5,20,rose\n6,30,lily\n";
  write_text(out() / "a.csv", "length,width,kind\n" + rows);
  const std::string yaml =
      "name: flowers\ndevice: cpu\nlayer: naive\ndata: {source: csv, path: " + (out() / "a.csv").string() +
      ", target: [kind], num_valid: 2}\nmodel: {hidden_size: 4}\n"
      "training: {epochs: 3, batch_size: 2}\n";
  StopAtStep stop(3);
  const auto stopped = train(yaml, {}, {&stop});
  const fs::path folder = stopped.finished.at(0).folder;
  const auto checkpoint = list_checkpoints(folder / kCheckpointsFolder).back().path.string();
  const std::string before = stopped.finished.at(0).summary.identity.data_fingerprint;

  write_text(out() / "b.csv", "length,width,kind\n7" + rows.substr(1));
  const auto other = train(yaml, {"data.path=" + (out() / "b.csv").string()});
  const std::string after = other.finished.at(0).summary.identity.data_fingerprint;
  expect_refusal(ExitCode::kCheckpoint,
                 checkpoint + ": the data have changed since: their SHA-256 was " + before.substr(0, 12) +
                     "... and is " + after.substr(0, 12) + "...; restore them, or train anew",
                 folder, {"data.path=" + (out() / "b.csv").string()});

  fs::rename(out() / "a.csv", out() / "moved.csv");
  EXPECT_EQ(go_on(folder, {"data.path=" + (out() / "moved.csv").string()}).exit_code, ExitCode::kDone);
}

TEST_F(Resume, RefusesWhatIsNoRun) {
  expect_refusal(ExitCode::kUsage,
                 out().string() + ": no run to go on with: there is no config.yaml in it; give the folder of a run",
                 out());
}

TEST_F(Resume, RefusesASecondProcessInTheFolder) {
  const fs::path stopped = run(exactly(), 6);
  {
    const FolderLock first(stopped, WhenTaken::kRefuse);
    expect_refusal(
        ExitCode::kDevice,
        fs::canonical(stopped).string() + ": another process is at work in this folder; wait for it, or end it",
        stopped);
  }
  EXPECT_EQ(go_on(stopped).exit_code, ExitCode::kDone);
}

// ---- sweeps ----

class ResumeSweep : public Resume {
 protected:
  static std::string sweep() { return kTinyYaml + std::string("sweep: {layer: [naive, fused], seed: [1, 2]}\n"); }

  fs::path sweep_file() const {
    fs::path file;
    for (const auto& entry : fs::directory_iterator(out()))
      if (entry.path().filename().string().starts_with("sweep-")) file = entry.path();
    return file;
  }
};

TEST_F(ResumeSweep, GoesOnWithTheRunThatWasStoppedAndThoseThatWereNotBegun) {
  const auto whole = train(sweep(), exactly());
  ASSERT_EQ(whole.finished.size(), 4U);
  EXPECT_EQ(sweep_file(), "") << "is removed once every run has ended";

  StopAtStep stop(6, 2);
  const auto stopped = train(sweep(), exactly(), {&stop});
  EXPECT_EQ(stopped.exit_code, ExitCode::kTerminated);
  ASSERT_EQ(stopped.finished.size(), 2U);
  const auto all = go_on(sweep_file());
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  ASSERT_EQ(all.finished.size(), 4U);
  EXPECT_EQ(sweep_file(), "");
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ending_of(all.finished[i].summary), RunEnding::kComplete);
    EXPECT_EQ(final_state(all.finished[i].folder), final_state(whole.finished[i].folder)) << "run " << i;
  }
}

TEST_F(ResumeSweep, BeginsARunAnewThatWasKilledBeforeItHadItsSettings) {
  StopAtStep stop(6, 2);
  const auto stopped = train(sweep(), exactly(), {&stop});
  for (const auto& entry : fs::directory_iterator(stopped.finished.at(1).folder)) fs::remove_all(entry.path());
  const auto all = go_on(sweep_file());
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  EXPECT_EQ(all.finished.size(), 4U);
}

TEST_F(ResumeSweep, SaysWhatGoesOnWithIt) {
  StopAtStep stop(2);
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kNormal, Terminal{});
  run_all(cases_of(sweep(), exactly()), {.out = out(), .command_line = {}, .console = {}, .observers = {&stop}},
          logger);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("terminated (SIGTERM): 3 of 4 runs not begun\n"));
  EXPECT_THAT(log, HasSubstr("to go on: rnnlab train --resume " + sweep_file().string() + "\n"));
}

}  // namespace
}  // namespace rnnlab
