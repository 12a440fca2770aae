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
using testing::cases_of;
using ::testing::Contains;
using testing::exactly;
using testing::final_state;
using testing::FinalState;
using testing::flip_a_byte;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::read_text;
using testing::StopAtStep;
using testing::write_text;

using Resume = testing::ResumedRun;

auto of_kind(const char* kind) { return ::testing::Field(&Warning::kind, kind); }

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
  expect_refusal(ExitCode::kTerminated, stopped);
  EXPECT_EQ(final_state(stopped), before);
}

TEST_F(Resume, FromWithinAnEpochRemovesLaterRows) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path killed = run(exactly({"checkpoint.every_steps=1", "checkpoint.keep=100"}));
  for (const CheckpointPlace& place : list_checkpoints(killed / kCheckpointsFolder))
    if (place.step > 6) fs::remove_all(place.path);
  fs::remove(killed / kCheckpointsFolder / "best.json");
  const auto all = resume(killed);
  EXPECT_THAT(all.finished.at(0).summary.path_notes, Contains(HasSubstr("after step 6, ")));
  EXPECT_EQ(final_state(killed), whole);
}

TEST_F(Resume, RestartsBeforeTheFirstCheckpoint) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path killed = run(exactly(), 6);
  fs::remove_all(killed / kCheckpointsFolder);
  fs::remove(killed / kSummaryFile);
  const auto all = resume(killed);
  EXPECT_THAT(all.finished.at(0).summary.path_notes, Contains(HasSubstr("from the beginning: ")));
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
  expect_refusal(ExitCode::kCheckpoint, folder);
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
  EXPECT_THAT(all.finished.at(0).summary.warnings, Contains(of_kind(warning::kBestForgotten)));
  EXPECT_FALSE(best_checkpoint(checkpoints()));
}

TEST_F(Resume, KeepsTheWarningsOfEarlierParts) {
  const fs::path folder = run(exactly({"training.epochs=4", "checkpoint.every_steps=2"}), 6);
  const auto all = resume(folder, {"checkpoint.every_steps=100"});
  EXPECT_THAT(all.finished.at(0).summary.warnings, Contains(of_kind(warning::kCopiesInEpochs)));
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
  EXPECT_THAT(all.finished.at(0).summary.warnings, Contains(of_kind(warning::kScheduleChanged)));
}

TEST_F(Resume, FallsBackToTheCheckpointBefore) {
  const FinalState whole = final_state(run(exactly()));
  const fs::path done = run(exactly());
  const fs::path newest = list_checkpoints(done / kCheckpointsFolder).back().path;
  flip_a_byte(newest / kModelFile);
  const auto all = resume(done);
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  EXPECT_THAT(all.finished.at(0).summary.warnings, Contains(of_kind(warning::kCheckpointUnusable)));
  EXPECT_EQ(final_state(done), whole);
}

// ---- refusals ----

TEST_F(Resume, RefusesWhereNoCheckpointVerifies) {
  const fs::path done = run(exactly());
  for (const CheckpointPlace& place : list_checkpoints(done / kCheckpointsFolder))
    write_text(place.path / kManifestFile, "");
  expect_refusal(ExitCode::kCheckpoint, done);
}

TEST_F(Resume, RefusesOtherSettings) {
  const fs::path stopped = run(exactly(), 6);
  expect_refusal(ExitCode::kUsage, stopped, {"training.batch_size=25", "model.hidden_size=16"});
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
  expect_refusal(ExitCode::kUsage, stopped);
}

// Returns the experiment of a table of flowers, and writes it with the length of the first flower and a second width.
std::string flowers_experiment(const fs::path& file, const std::string& length = "1", const std::string& width = "10") {
  write_text(file, "length,width,kind\n" + length + ",10,rose\n2," + width +
                       ",lily\n3,10,rose\n4,20,lily\n5,20,rose\n6,30,lily\n");
  return "name: flowers\ndevice: cpu\nlayer: naive\ndata: {source: csv, path: " + file.string() +
         ", target: [kind], num_valid: 2}\nmodel: {hidden_size: 4}\ntraining: {epochs: 3, batch_size: 2}\n";
}

TEST_F(Resume, RefusesOtherData) {
  StopAtStep stop(3);
  const fs::path folder = train(flowers_experiment(out() / "a.csv"), {}, {&stop}).finished.at(0).folder;
  flowers_experiment(out() / "b.csv", "7");
  expect_refusal(ExitCode::kCheckpoint, folder, {"data.path=" + (out() / "b.csv").string()});

  fs::rename(out() / "a.csv", out() / "moved.csv");
  EXPECT_EQ(resume(folder, {"data.path=" + (out() / "moved.csv").string()}).exit_code, ExitCode::kDone);
}

// The keys that the message about the data advises may be fixed for the run.
TEST_F(Resume, NamesTheVersionsWhereDataAreRefused) {
  StopAtStep stop(3);
  const fs::path folder = train(flowers_experiment(out() / "a.csv"), {}, {&stop}).finished.at(0).folder;
  flowers_experiment(out() / "a.csv", "1", "");
  expect_refusal(ExitCode::kData, folder);

  const fs::path newest = list_checkpoints(folder / kCheckpointsFolder).back().path;
  Checkpoint checkpoint = load_checkpoint(newest);
  checkpoint.state["software"]["rnnlab"] = "0.0.1";
  save_checkpoint(folder / kCheckpointsFolder, checkpoint.step,
                  {checkpoint.model.tensors, checkpoint.optimizer.tensors, checkpoint.state, nullptr});
  expect_refusal(ExitCode::kData, folder);
}

TEST_F(Resume, RefusesAPipeInThePlaceOfTheLog) {
  const fs::path stopped = run(exactly(), 6);
  fs::remove(stopped / kLogFile);
  ASSERT_EQ(::mkfifo((stopped / kLogFile).c_str(), 0600), 0);
  expect_refusal(ExitCode::kDevice, stopped);
}

TEST_F(Resume, RefusesWhatIsNotARun) {
  expect_refusal(ExitCode::kUsage, out());
  expect_refusal(ExitCode::kUsage, out() / "nowhere");
  expect_refusal(ExitCode::kUsage, out() / "sweep-1.json");
  const fs::path config = run(exactly()) / kConfigFile;
  testing::expect_error(ExitCode::kUsage, [&] { resume(config); });
}

TEST_F(Resume, RefusesASecondProcessInTheFolder) {
  const fs::path stopped = run(exactly(), 6);
  {
    const FolderLock first(stopped, WhenTaken::kRefuse);
    expect_refusal(ExitCode::kDevice, stopped);
  }
  EXPECT_EQ(resume(stopped).exit_code, ExitCode::kDone);
}

// ---- sweeps ----

class ResumeSweep : public testing::ResumedRun {
 protected:
  static std::string sweep() { return kTinyYaml + std::string("sweep: {layer: [naive, fused], seed: [1, 2]}\n"); }

  fs::path sweep_file() const {
    fs::path file;
    for (const auto& entry : fs::directory_iterator(out()))
      if (entry.path().filename().string().starts_with("sweep-")) file = entry.path();
    return file;
  }
};

TEST_F(ResumeSweep, RunsTheStoppedRunAndTheRemainingRuns) {
  const auto whole = train(sweep(), exactly());
  ASSERT_EQ(whole.finished.size(), 4U);
  EXPECT_EQ(sweep_file(), "") << "is removed once every run has ended";

  StopAtStep stop(6, 2);
  const auto stopped = train(sweep(), exactly(), {&stop});
  EXPECT_EQ(stopped.exit_code, ExitCode::kTerminated);
  ASSERT_EQ(stopped.finished.size(), 2U);
  const auto all = resume(sweep_file());
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  ASSERT_EQ(all.finished.size(), 4U);
  EXPECT_EQ(sweep_file(), "");
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all.finished[i].summary.ending, RunEnding::kComplete);
    EXPECT_EQ(final_state(all.finished[i].folder), final_state(whole.finished[i].folder)) << "run " << i;
  }
}

TEST_F(ResumeSweep, RestartsARunThatWasKilledBeforeItsSettings) {
  StopAtStep stop(6, 2);
  const auto stopped = train(sweep(), exactly(), {&stop});
  for (const auto& entry : fs::directory_iterator(stopped.finished.at(1).folder)) fs::remove_all(entry.path());
  const auto all = resume(sweep_file());
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  EXPECT_EQ(all.finished.size(), 4U);
}

TEST_F(ResumeSweep, ReusesTheChoiceOfAuto) {
  const std::string seeds = kTinyYaml + std::string("sweep: {layer: [auto], seed: [1, 2]}\n");
  StopAtStep stop(6, 1);
  const auto stopped = train(seeds, exactly(), {&stop});
  const auto all = resume(sweep_file());
  ASSERT_EQ(all.finished.size(), 2U);
  for (const RunOutcome& run : all.finished) EXPECT_EQ(run.summary.layer, stopped.finished.at(0).summary.layer);
  EXPECT_THAT(all.finished[1].summary.path_notes, ::testing::Contains(HasSubstr("in an earlier run ")));
}

TEST_F(ResumeSweep, ResumesAfterAMove) {
  const testing::TemporaryFolder elsewhere;
  StopAtStep stop(6, 2);
  const auto stopped = train(sweep(), exactly(), {&stop});
  for (const auto& entry : fs::directory_iterator(out()))
    fs::rename(entry.path(), elsewhere.path() / entry.path().filename());
  const fs::path first = elsewhere.path() / stopped.finished.at(0).folder.lexically_relative(out());
  const auto written = fs::last_write_time(first / kSummaryFile);
  fs::path moved;
  for (const auto& entry : fs::directory_iterator(elsewhere.path()))
    if (entry.is_regular_file()) moved = entry.path();
  const auto all = resume(moved);
  ASSERT_EQ(all.finished.size(), 4U);
  EXPECT_EQ(all.finished[0].folder, first);
  EXPECT_EQ(fs::last_write_time(first / kSummaryFile), written) << "is not trained again";
  EXPECT_EQ(run_folders_in(elsewhere.path() / "tiny").size(), 4U);
}

TEST_F(ResumeSweep, NamesAMissingRun) {
  StopAtStep stop(6, 2);
  const fs::path gone = train(sweep(), exactly(), {&stop}).finished.at(1).folder;
  fs::remove_all(gone);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(resume(sweep_file()).finished.size(), 4U);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(gone.string() + ": "));
}

TEST_F(ResumeSweep, RemembersTheOverridesOfEveryCommand) {
  StopAtStep stop(2), again(6, 2);
  train(sweep(), exactly(), {&stop});
  resume(sweep_file(), {"training.epochs=2"}, {&again});
  const auto all = resume(sweep_file());
  ASSERT_EQ(all.finished.size(), 4U);
  for (const RunOutcome& run : all.finished) expect_golden(run.summary.stop_reason);
}

TEST_F(ResumeSweep, RefusesOtherSettingsBeforeAnyRun) {
  StopAtStep stop(2);
  train(sweep(), exactly(), {&stop});
  testing::expect_error(ExitCode::kUsage, [&] { resume(sweep_file(), {"training.learning_rate=0.5"}); });
}

TEST_F(ResumeSweep, IsKeptWhileARunIsLeftUndone) {
  const auto all = train(kTinyYaml + std::string("sweep: {device: [cpu, 'cuda:99']}\n"), exactly());
  EXPECT_EQ(all.exit_code, ExitCode::kDevice);
  EXPECT_NE(sweep_file(), "");
}

TEST_F(ResumeSweep, LogsHowToResume) {
  StopAtStep stop(2);
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kNormal, Terminal{});
  run_all(cases_of(sweep(), exactly()), {.out = out(), .observers = {&stop}}, logger);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("(SIGTERM): 3 of 4 runs "));
  EXPECT_THAT(log, HasSubstr(" --resume " + sweep_file().string() + "\n"));
}

}  // namespace
}  // namespace rnnlab
