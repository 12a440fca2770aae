// SPDX-License-Identifier: Apache-2.0
#include "runs/resume.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "golden.h"
#include "runs/resumed_run.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using testing::exactly;
using testing::final_state;
using testing::FinalState;
using testing::flip_a_byte;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_text;
using testing::StopAtStep;
using testing::write_text;

using Resume = testing::ResumedRun;

TEST_F(Resume, EndsAsIfTheRunHadNeverStopped) {
  const FinalState whole = final_state(run(exactly()));
  ASSERT_EQ(whole.epochs.size(), 3U);
  // The steps are within the first epoch, at its end, within the second epoch, and before the last step.
  for (const int64_t step : {1, 4, 6, 11}) {
    SCOPED_TRACE("stopped after step " + std::to_string(step));
    const fs::path stopped = run(exactly(), step);
    const auto all = resume(stopped);
    EXPECT_EQ(all.exit_code, ExitCode::kDone);
    EXPECT_EQ(all.finished.at(0).folder, fs::canonical(stopped));
    EXPECT_EQ(final_state(stopped), whole);
  }
}

// Their parameters and states differ from those of the cells of libraries.
TEST_F(Resume, OfEveryCellThatLibrariesDoNotHave) {
  for (const std::string cell : {"min_gru", "min_lstm", "lstm_peephole", "slstm"}) {
    SCOPED_TRACE(cell);
    const auto settings = exactly({"layer=naive", "model.cell=" + cell, "model.bidirectional=true"});
    const FinalState whole = final_state(run(settings));
    const fs::path stopped = run(settings, 6);
    EXPECT_EQ(resume(stopped).exit_code, ExitCode::kDone);
    EXPECT_EQ(final_state(stopped), whole);
  }
}

// Writes a text, and returns the experiment of a language model that carries its states through it.
std::string carrying_experiment(const fs::path& folder) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "abcd ef"[i * i % 7];
  write_text(folder / "a.txt", text);
  return fmt::format(
      "name: tiny\ndevice: cpu\nlayer: naive\ndata: {{source: text, path: {}, sequence_length: 6}}\n"
      "model: {{kind: language_model, hidden_size: 4}}\n"
      "training: {{epochs: 3, batch_size: 4, carry_state: true}}\ncheckpoint: {{every_seconds: 0}}\n",
      (folder / "a.txt").string());
}

// The states after the last batch are in the checkpoint, because the next batch begins with them.
TEST_F(Resume, OfALanguageModelThatCarriesItsStates) {
  const std::string yaml = carrying_experiment(out());
  const FinalState whole = final_state(train(yaml, {}).finished.at(0).folder);
  for (const int64_t step : {5, 11}) {  // at the end of an epoch too the next one begins with zeros
    StopAtStep stop(step);
    const fs::path stopped = train(yaml, {}, {&stop}).finished.at(0).folder;
    EXPECT_EQ(resume(stopped).exit_code, ExitCode::kDone);
    EXPECT_EQ(final_state(stopped), whole) << step;
  }
  EXPECT_NE(final_state(train(yaml, {"training.carry_state=false"}).finished.at(0).folder), whole);
}

// The layers are timed on the first batch, and must not leave their states to the first step.
TEST_F(Resume, OfALayerThatWasChosenWithCarriedStates) {
  const std::string yaml = carrying_experiment(out());
  const RunOutcome chosen = train(yaml, {"layer=auto"}).finished.at(0);
  const std::string& found = chosen.summary.layer;  // "auto (blocked)"
  const std::string layer = "layer=" + found.substr(6, found.size() - 7);
  EXPECT_EQ(final_state(train(yaml, {layer}).finished.at(0).folder), final_state(chosen.folder)) << layer;
}

TEST_F(Resume, MoreThanOnce) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path stopped = run(exactly(), 3);
  StopAtStep again(7);
  EXPECT_EQ(resume(stopped, {}, {&again}).exit_code, ExitCode::kTerminated);
  EXPECT_EQ(read_epochs(stopped).size(), 2U);
  resume(stopped);
  EXPECT_EQ(final_state(stopped), whole);
}

TEST_F(Resume, StoppedBeforeItsFirstStepKeepsWhatItHad) {
  const fs::path stopped = run(exactly(), 6);
  const FinalState before = final_state(stopped);
  const StopSignalGuard guard;
  std::raise(SIGTERM);
  expect_refusal(ExitCode::kTerminated, "terminated (SIGTERM) before the first step: nothing new was saved", stopped);
  EXPECT_EQ(final_state(stopped), before);
}

TEST_F(Resume, FromWithinAnEpochRemovesLaterRows) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path killed = run(exactly({"checkpoint.every_steps=1", "checkpoint.keep=100"}));
  for (const CheckpointPlace& place : list_checkpoints(killed / kCheckpointsFolder))
    if (place.step > 6) fs::remove_all(place.path);
  fs::remove(killed / kCheckpointsFolder / "best.json");
  const auto all = resume(killed);
  EXPECT_THAT(all.finished.at(0).summary.path_notes, ::testing::Contains("resumes after step 6, within epoch 2"));
  EXPECT_EQ(final_state(killed), whole);
}

TEST_F(Resume, RestartsBeforeTheFirstCheckpoint) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path killed = run(exactly(), 6);
  fs::remove_all(killed / kCheckpointsFolder);
  fs::remove(killed / kSummaryFile);
  const auto all = resume(killed);
  EXPECT_THAT(all.finished.at(0).summary.path_notes,
              ::testing::Contains("starts from the beginning: the run was stopped before its first checkpoint"));
  EXPECT_EQ(final_state(killed), whole);
}

TEST_F(Resume, OfACompleteRunReportsItAgain) {
  const fs::path done = run(exactly());
  const FinalState before = final_state(done);
  const auto all = resume(done);
  expect_golden(all.finished.at(0).summary.stop_reason);
  EXPECT_EQ(final_state(done), before);
}

TEST_F(Resume, OfARunThatABoundEndedWithinAnEpochChangesNothing) {
  const fs::path folder = run(exactly({"training.max_steps=6"}));
  const std::string rows = read_text(folder / kEpochsCsvFile);
  const std::string summary = read_text(folder / kSummaryFile);
  EXPECT_EQ(resume(folder).exit_code, ExitCode::kDone);
  EXPECT_EQ(read_text(folder / kEpochsCsvFile), rows);
  EXPECT_EQ(read_text(folder / kSummaryFile), summary);
}

// Killed after its last save: the row of the epoch that was cut short may be there already, or not.
TEST_F(Resume, EndsTheEpochThatABoundCutsShort) {
  const FinalState whole = final_state(run(exactly({"training.max_steps=6"})));
  ASSERT_EQ(whole.epochs.size(), 2U);
  for (const size_t rows : {1, 2}) {
    const fs::path killed = run(exactly({"training.max_steps=6"}));
    rewrite_epochs(killed, read_first_epochs(killed, static_cast<int64_t>(rows)));
    const Summary summary = read_summary(killed);
    fs::remove(killed / kSummaryFile);
    const auto all = resume(killed);
    EXPECT_EQ(final_state(killed), whole);
    EXPECT_EQ(all.finished.at(0).summary.final_metrics, summary.final_metrics);
    expect_golden(all.finished.at(0).summary.stop_reason);
  }
}

TEST_F(Resume, WithFewerEpochsThanAreDoneChangesNothing) {
  const fs::path stopped = run(exactly(), 10);
  const FinalState before = final_state(stopped);
  const std::string config = read_text(stopped / kConfigFile);
  resume(stopped, {"training.epochs=1"});
  EXPECT_EQ(final_state(stopped), before);
  EXPECT_EQ(read_text(stopped / kConfigFile), config);
}

TEST_F(Resume, RefusesARunThatHasEndedWithoutACheckpoint) {
  const fs::path folder = run(exactly({"checkpoint.save=false"}));
  const std::string rows = read_text(folder / kEpochsCsvFile);
  expect_refusal(ExitCode::kCheckpoint,
                 folder.string() +
                     ": the run has ended and left no checkpoint to resume from; start a new run with its "
                     "config.yaml",
                 folder);
  EXPECT_EQ(read_text(folder / kEpochsCsvFile), rows);
}

TEST_F(Resume, RemovesADamagedMarkOfTheBest) {
  const fs::path folder = run(exactly(), 6);
  write_text(folder / kCheckpointsFolder / "best.json", "{");
  EXPECT_EQ(resume(folder).exit_code, ExitCode::kDone);
  EXPECT_TRUE(best_checkpoint(folder / kCheckpointsFolder));
}

// Its newest checkpoint, which is the best, is damaged; the previous checkpoint is of step 8.
class ResumeFromBeforeTheBest : public testing::ResumedRun {
 protected:
  void SetUp() override {
    run_ = run(exactly({"checkpoint.keep=100"}));
    mark_best_checkpoint(checkpoints(), 12);
    flip_a_byte(checkpoints() / "step-000012" / kModelFile);
  }
  fs::path checkpoints() const { return run_ / kCheckpointsFolder; }

  fs::path run_;
};

TEST_F(ResumeFromBeforeTheBest, MarksTheBestUntilThen) {
  resume(run_, {"checkpoint.best=false"});
  ASSERT_TRUE(best_checkpoint(checkpoints()));
  EXPECT_EQ(best_checkpoint(checkpoints())->step, 8);
}

TEST_F(ResumeFromBeforeTheBest, RemovesTheMarkIfThatCheckpointIsMissing) {
  fs::rename(checkpoints() / "step-000008", checkpoints() / "away");
  fs::remove_all(checkpoints() / "step-000004");
  Checkpoint checkpoint = load_checkpoint(checkpoints() / "away");
  checkpoint.state["progress"]["state"]["best_epoch"] = 1;
  save_checkpoint(checkpoints(), 8,
                  {checkpoint.model.tensors, checkpoint.optimizer.tensors, checkpoint.state, nullptr});
  const auto all = resume(run_, {"checkpoint.best=false"});
  EXPECT_THAT(texts_of(all.finished.at(0).summary.warnings),
              Contains("the mark of the best checkpoint was removed: it pointed to step 12, and the checkpoint of step "
                       "4 is missing"));
  EXPECT_FALSE(best_checkpoint(checkpoints()));
}

TEST_F(Resume, KeepsTheWarningsOfEarlierParts) {
  const fs::path folder = run(exactly({"training.epochs=4", "checkpoint.every_steps=2"}), 6);
  const auto all = resume(folder, {"checkpoint.every_steps=100"});
  EXPECT_THAT(texts_of(all.finished.at(0).summary.warnings),
              Contains(HasSubstr("checkpoint.every_steps: epoch times include copies of the state")));
}

TEST_F(Resume, KeepsWarningsThatOnlyTheSummaryHas) {
  const fs::path folder = run(exactly(), 6);
  Summary summary = read_summary(folder);
  summary.warnings.emplace_back(warning::kOther, "what its end alone could tell");
  write_summary(folder, summary);
  EXPECT_THAT(resume(folder).finished.at(0).summary.warnings, Contains(summary.warnings.back()));
  EXPECT_THAT(read_text(folder / kLogFile), Not(HasSubstr(summary.warnings.back().text))) << "it is no news";
}

TEST_F(Resume, RaisesTheEpochs) {
  const FinalState five = final_state(run(exactly({"training.epochs=5"})));
  const fs::path done = run(exactly());
  resume(done, {"training.epochs=5"});
  EXPECT_EQ(final_state(done), five);
  resume(done);
  EXPECT_EQ(final_state(done), five) << "the bound is kept";
}

TEST_F(Resume, OfARunThatReachedItsTargetChangesNothing) {
  const fs::path done = run(exactly({"training.stop_at.valid_loss=100"}));
  const FinalState before = final_state(done);
  EXPECT_EQ(before.epochs.size(), 1u);
  resume(done, {"training.epochs=5"});
  EXPECT_EQ(final_state(done), before);
}

// The summary of the first part must not count as the run's summary.
TEST_F(Resume, HasNoSummaryUntilTheRunHasEndedAgain) {
  class LookForSummary : public Observer {
   public:
    explicit LookForSummary(fs::path run) : run_(std::move(run)) {}
    void on_step(const StepProgress&) override { found |= fs::exists(run_ / kSummaryFile); }
    bool found = false;

   private:
    fs::path run_;
  };
  const fs::path done = run(exactly());
  LookForSummary look(done);
  resume(done, {"training.epochs=4"}, {&look});
  EXPECT_FALSE(look.found);
  EXPECT_TRUE(fs::exists(done / kSummaryFile));
}

TEST_F(Resume, WarnsOfAScheduleThatEndsWithTheRun) {
  const fs::path done = run(exactly({"training.schedule=cosine"}));
  const auto all = resume(done, {"training.epochs=5"});
  EXPECT_THAT(texts_of(all.finished.at(0).summary.warnings),
              ::testing::Contains("training.schedule cosine ends with the run, so the learning rate continues as in a "
                                  "run with the new bounds"));
}

TEST_F(Resume, FallsBackToTheCheckpointBefore) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path done = run(exactly());
  const fs::path newest = list_checkpoints(done / kCheckpointsFolder).back().path;
  flip_a_byte(newest / kModelFile);
  const auto all = resume(done);
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  EXPECT_THAT(texts_of(all.finished.at(0).summary.warnings),
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
  expect_refusal(
      ExitCode::kCheckpoint,
      (done / kCheckpointsFolder).string() + ": none of 2 checkpoints is valid: " + newest.string() +
          "/manifest.json: its last line, the SHA-256, does not match its content; the file is damaged or was "
          "cut off",
      done);
}

TEST_F(Resume, RefusesOtherSettings) {
  const fs::path stopped = run(exactly(), 6);
  const auto checkpoint = list_checkpoints(stopped / kCheckpointsFolder).back().path.string();
  expect_refusal(
      ExitCode::kUsage,
      checkpoint +
          ": cannot resume with different settings: model.hidden_size was 8 and is 16, training.batch_size was 50 "
          "and is 25; only devices, strict, data.path, data.byte_maximum, data.memory, data.missing_words, data.time, "
          "data.unsorted, data.duplicates, data.gaps, training.epochs, training.max_steps, "
          "training.max_seconds, "
          "training.num_threads, checkpoint.* and distributed.* may change: restore these, or start a new run",
      stopped, {"training.batch_size=25", "model.hidden_size=16"});
  EXPECT_EQ(resume(stopped).exit_code, ExitCode::kDone) << "a refusal changes nothing";
}

TEST_F(Resume, AcceptsADifferentNumberOfThreads) {
  const fs::path stopped = run(exactly(), 6);
  EXPECT_EQ(resume(stopped, {"training.num_threads=1"}).exit_code, ExitCode::kDone);
  EXPECT_THAT(read_text(stopped / kConfigFile), HasSubstr("num_threads: 1"));
}

TEST_F(Resume, RefusesAConfigThatWasEdited) {
  const fs::path stopped = run(exactly(), 6);
  const std::string config = read_text(stopped / kConfigFile);
  write_text(stopped / kConfigFile, std::string(config).replace(config.find("seed: 1"), 7, "seed: 2"));
  const auto checkpoint = list_checkpoints(stopped / kCheckpointsFolder).back().path.string();
  expect_refusal(
      ExitCode::kUsage,
      checkpoint +
          ": cannot resume with different settings: seed was 1 and is 2; only devices, strict, data.path, "
          "data.byte_maximum, data.memory, data.missing_words, data.time, data.unsorted, data.duplicates, data.gaps, "
          "training.epochs, training.max_steps, training.max_seconds, training.num_threads, checkpoint.* and "
          "distributed.* may change: restore these, or start a new run",
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
                     "... and is " + after.substr(0, 12) + "...; restore them, or start a new run",
                 folder, {"data.path=" + (out() / "b.csv").string()});

  fs::rename(out() / "a.csv", out() / "moved.csv");
  EXPECT_EQ(resume(folder, {"data.path=" + (out() / "moved.csv").string()}).exit_code, ExitCode::kDone);
}

// The keys that the message about the data advises may be fixed for the run.
TEST_F(Resume, NamesTheVersionsWhereDataAreRefused) {
  write_text(out() / "a.csv", "length,width,kind\n1,10,rose\n2,10,lily\n3,10,rose\n4,20,lily\n5,20,rose\n");
  const std::string yaml =
      "name: flowers\ndevice: cpu\nlayer: naive\ndata: {source: csv, path: " + (out() / "a.csv").string() +
      ", target: [kind], num_valid: 2}\nmodel: {hidden_size: 4}\n"
      "training: {epochs: 3, batch_size: 2}\n";
  StopAtStep stop(3);
  const fs::path folder = train(yaml, {}, {&stop}).finished.at(0).folder;
  write_text(out() / "a.csv", "length,width,kind\n1,10,rose\n2,,lily\n3,10,rose\n4,20,lily\n5,20,rose\n");
  const auto message = [&]() -> std::string {
    Logger logger(Verbosity::kQuiet, Terminal{});
    try {
      resume_experiment(folder, {}, {.out = out(), .command_line = {}, .console = {}}, logger);
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kData);
      return error.what();
    }
    return "";
  };
  expect_golden(message());

  const fs::path newest = list_checkpoints(folder / kCheckpointsFolder).back().path;
  Checkpoint checkpoint = load_checkpoint(newest);
  checkpoint.state["software"]["rnnlab"] = "0.0.1";
  save_checkpoint(folder / kCheckpointsFolder, checkpoint.step,
                  {checkpoint.model.tensors, checkpoint.optimizer.tensors, checkpoint.state, nullptr});
  expect_golden(message());
}

TEST_F(Resume, RefusesAPipeInThePlaceOfTheLog) {
  const fs::path stopped = run(exactly(), 6);
  fs::remove(stopped / kLogFile);
  ASSERT_EQ(::mkfifo((stopped / kLogFile).c_str(), 0600), 0);
  expect_refusal(
      ExitCode::kDevice,
      (fs::canonical(stopped) / kLogFile).string() + ": is a folder, pipe or device, expected a file; remove it",
      stopped);
}

TEST_F(Resume, RefusesWhatIsNotARun) {
  expect_refusal(ExitCode::kUsage,
                 out().string() + ": cannot be resumed, because it contains no config.yaml; pass the folder of a run",
                 out());
  expect_refusal(ExitCode::kUsage, (out() / "nowhere").string() + ": is missing; pass the folder of a run",
                 out() / "nowhere");
  expect_refusal(ExitCode::kUsage,
                 (out() / "sweep-1.json").string() +
                     ": is missing; the file of a sweep is removed when all of its runs have ended",
                 out() / "sweep-1.json");
  const fs::path config = run(exactly()) / kConfigFile;
  testing::expect_error(ExitCode::kUsage,
                        config.string() + ": a file, expected the folder of a run or the sweep-....json of a sweep",
                        [&] { resume(config); });
}

TEST_F(Resume, RefusesASecondProcessInTheFolder) {
  const fs::path stopped = run(exactly(), 6);
  {
    const FolderLock first(stopped, WhenTaken::kRefuse);
    expect_refusal(
        ExitCode::kDevice,
        fs::canonical(stopped).string() + ": another process uses this folder; wait until it ends, or stop it",
        stopped);
  }
  EXPECT_EQ(resume(stopped).exit_code, ExitCode::kDone);
}

}  // namespace
}  // namespace rnnlab
