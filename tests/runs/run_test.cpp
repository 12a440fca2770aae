// SPDX-License-Identifier: Apache-2.0
#include "runs/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/expect_error.h"
#include "base/system/gpu_info.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "layers/on_cuda.h"
#include "results/comparison.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"
#include "results/run_record.h"
#include "runs/resumed_run.h"
#include "runs/tiny_experiment.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::final_state;
using testing::FinalState;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_experiment;

class RunExperiment : public ::testing::Test {
 protected:
  RunOutcome run(const Experiment& experiment) { return testing::run_quietly(experiment, out_.path()); }
  TemporaryFolder out_;
};

TEST_F(RunExperiment, WritesTheWholeRunFolder) {
  const RunOutcome outcome = run(tiny_experiment());
  EXPECT_EQ(outcome.exit_code, ExitCode::kDone);
  EXPECT_EQ(outcome.folder.parent_path(), out_.path() / "tiny");
  EXPECT_THAT(outcome.folder.filename().string(), HasSubstr("-cpu-fused"));
  for (const char* file : {kConfigFile, kEnvironmentFile, kLogFile, kEpochsCsvFile, kEpochsJsonlFile, kSummaryFile})
    EXPECT_TRUE(std::filesystem::is_regular_file(outcome.folder / file)) << file;
}

TEST_F(RunExperiment, LogsOneRowAnEpochAndMarksTheWarmup) {
  const auto rows = read_epochs(run(tiny_experiment()).folder);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].warmup);
  EXPECT_FALSE(rows[1].warmup);
  for (const EpochRow& row : rows) {
    EXPECT_GT(row.train_seconds, 0);
    EXPECT_TRUE(row.metrics.contains("valid_accuracy"));
  }
}

TEST_F(RunExperiment, SummaryHasTheObservedPath) {
  const RunRecord record = load_run(run(tiny_experiment()).folder);
  EXPECT_EQ(record.summary.device, "cpu");
  EXPECT_EQ(record.summary.layer, "fused");
  EXPECT_EQ(record.summary.epochs, 3);
  EXPECT_EQ(record.summary.epoch_time.value().num_epochs, 2);
  expect_golden(record.summary.stop_reason);
  EXPECT_THAT(record.summary.path, HasSubstr("oneDNN"));
  EXPECT_THAT(record.environment.command_line, ElementsAre("rnnlab", "train"));
}

TEST_F(RunExperiment, ItsConfigRunsAgainToTheSameLosses) {
  const RunOutcome first = run(tiny_experiment({"deterministic=true", "training.num_threads=1"}));
  config::Findings findings;
  const auto document = config::Document::from_file(first.folder / kConfigFile, findings);
  const auto experiment = config::read(document, Experiment::schema(), findings);
  ASSERT_TRUE(findings.empty());
  const RunOutcome second = run(experiment);
  EXPECT_EQ(first.summary.final_metrics, second.summary.final_metrics);
  EXPECT_EQ(first.summary.identity.initial_weights_sha256, second.summary.identity.initial_weights_sha256);
}

TEST_F(RunExperiment, LayersStartFromTheSameWeightsAndLearnTheSame) {
  const Summary fused = run(tiny_experiment({"layer=fused"})).summary;
  const Summary naive = run(tiny_experiment({"layer=naive"})).summary;
  EXPECT_EQ(fused.identity.initial_weights_sha256, naive.identity.initial_weights_sha256);
  EXPECT_NEAR(fused.final_metrics.at("train_loss"), naive.final_metrics.at("train_loss"), 1e-4);
}

TEST_F(RunExperiment, SeedsChangeTheWeightsAndNotTheData) {
  const Identity one = run(tiny_experiment({"seed=1"})).summary.identity;
  const Identity two = run(tiny_experiment({"seed=2"})).summary.identity;
  EXPECT_NE(one.initial_weights_sha256, two.initial_weights_sha256);
  EXPECT_EQ(one.data_fingerprint, two.data_fingerprint);
}

TEST_F(RunExperiment, IdentityHasWhatAffectsTimes) {
  const Identity plain = run(tiny_experiment()).summary.identity;
  EXPECT_NE(run(tiny_experiment({"deterministic=true"})).summary.identity.training_hash, plain.training_hash);
  EXPECT_EQ(plain.placement, "device");  // never "auto"
  EXPECT_EQ(run(tiny_experiment({"data.placement=host"})).summary.identity.placement, "host");
  EXPECT_EQ(run(tiny_experiment({"training.epochs=4"})).summary.identity.training_hash, plain.training_hash);
  expect_golden(run(tiny_experiment({"precision=tf32"})).summary.identity.precision);
}

TEST_F(RunExperiment, ADivergedRunSaysSoInItsSummary) {
  const Experiment wild = tiny_experiment({"training.optimizer=sgd", "training.learning_rate=1e38"});
  EXPECT_THROW(run(wild), UserError);
  const auto folder = run_folders_in(out_.path() / "tiny").at(0);
  const RunRecord record = load_run(folder);
  EXPECT_THAT(record.summary.stop_reason, HasSubstr("diverged"));
}

TEST_F(RunExperiment, AVeryHighLossIsAWarning) {
  const RunOutcome wild = run(tiny_experiment({"training.learning_rate=1e30"}));
  EXPECT_EQ(wild.exit_code, ExitCode::kDone);
  const auto is_high = ::testing::Contains(::testing::Field(&Warning::kind, warning::kHighLoss));
  EXPECT_THAT(load_run(wild.folder).summary.warnings, is_high);
  EXPECT_THAT(testing::read_text(wild.folder / kLogFile), HasSubstr(" the 2.303 of "));
  EXPECT_THAT(run(tiny_experiment()).summary.warnings, ::testing::Not(is_high));
}

TEST_F(RunExperiment, ADivergedRunIsReportedIfOtherWorkFails) {
  const auto put_in_the_way = [](const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder / kSummaryFile);
  };
  Logger logger(Verbosity::kQuiet, Terminal{});
  const RunRequest request{.out = out_.path(), .on_folder = put_in_the_way};
  const Experiment wild = tiny_experiment({"training.optimizer=sgd", "training.learning_rate=1e38"});
  testing::message_of_error(ExitCode::kDiverged, [&] { run_experiment(wild, request, logger); });
  const auto folder = run_folders_in(out_.path() / "tiny").at(0);
  EXPECT_THAT(testing::read_text(folder / kLogFile), HasSubstr("/summary.json: cannot replace: "));
}

TEST_F(RunExperiment, TheLogSaysWhereTheDataLies) {
  EXPECT_THAT(testing::read_text(run(tiny_experiment()).folder / kLogFile), HasSubstr("placement device ("));
  EXPECT_THAT(testing::read_text(run(tiny_experiment({"data.placement=host"})).folder / kLogFile),
              HasSubstr("placement host\n"));
}

TEST_F(RunExperiment, GoesWithoutValidation) {
  const Summary summary = run(tiny_experiment({"data.num_valid=0"})).summary;
  EXPECT_EQ(summary.final_metrics.count("train_loss"), 1u);
  EXPECT_EQ(summary.final_metrics.count("valid_loss"), 0u);
}

TEST_F(RunExperiment, NoFolderIsMadeAfterASignal) {
  const StopSignalGuard guard;
  std::raise(SIGTERM);
  testing::expect_error(ExitCode::kTerminated, [&] { run(tiny_experiment()); });
  EXPECT_TRUE(std::filesystem::is_empty(out_.path()));
}

TEST_F(RunExperiment, NoFolderIsMadeForWhatTheTrainerRefuses) {
  EXPECT_THROW(run(tiny_experiment({"training.batch_size=201", "training.drop_last=true"})), UserError);
  EXPECT_TRUE(std::filesystem::is_empty(out_.path()));
}

TEST_F(RunExperiment, NoFolderIsMadeForMissingData) {
  const Experiment missing =
      testing::cases_of("data: {source: csv, path: nowhere.csv, target: [y]}").front().experiment;
  EXPECT_THROW(run(missing), UserError);
  EXPECT_TRUE(std::filesystem::is_empty(out_.path()));
}

TEST_F(RunExperiment, RecordsBaselinesAndSaysWhereTheModelDoesNotBeatThem) {
  const RunOutcome outcome = run(tiny_experiment({"training.epochs=1", "training.learning_rate=1e-9"}));
  const Summary summary = load_run(outcome.folder).summary;
  ASSERT_EQ(summary.baselines.size(), 1u);
  EXPECT_EQ(summary.baselines[0].name, "most frequent class");
  const std::string log = read_file(outcome.folder / kLogFile, 1 << 20);
  EXPECT_THAT(log, HasSubstr("baseline  most frequent class: "));
  const bool is_better = summary.final_metrics.at("valid_accuracy") > summary.baselines[0].metrics.at("valid_accuracy");
  const auto is_of_baseline = [](const Warning& one) { return one.kind == warning::kNotBetterThanBaseline; };
  EXPECT_EQ(std::ranges::any_of(summary.warnings, is_of_baseline), !is_better);
}

TEST_F(RunExperiment, DoesNotWarnThatNoiseWasNotLearned) {
  const Summary summary =
      run(testing::cases_of("name: noise\ndevice: cpu\ndata: {source: synthetic, labels: gaussian, num_train: 64, "
                            "num_valid: 32, sequence_length: 3, num_features: 2}\nmodel: {kind: sequence_regressor, "
                            "hidden_size: 4}\ntraining: {epochs: 1}\n")
              .front()
              .experiment)
          .summary;
  EXPECT_EQ(summary.baselines.size(), 1u);
  for (const Warning& one : summary.warnings) EXPECT_NE(one.kind, warning::kNotBetterThanBaseline);
}

TEST_F(RunExperiment, EndsAtATargetAndRecordsTheTrainingUntilThen) {
  const RunOutcome outcome = run(tiny_experiment({"training.stop_at.valid_loss=100"}));
  const RunRecord record = load_run(outcome.folder);
  EXPECT_EQ(record.summary.epochs, 1);
  EXPECT_EQ(record.summary.ending, RunEnding::kComplete);
  expect_golden(record.summary.stop_reason);
  ASSERT_TRUE(record.summary.target.has_value());
  EXPECT_EQ(record.summary.target->epoch, 1);
  EXPECT_EQ(record.summary.target->train_seconds, record.rows[0].train_seconds);
}

TEST_F(RunExperiment, RecordsATargetThatWasNotReached) {
  const Summary summary = run(tiny_experiment({"training.stop_at.valid_loss=1e-9"})).summary;
  EXPECT_EQ(summary.epochs, 3);
  EXPECT_EQ(summary.target->epoch, std::nullopt);
  EXPECT_FALSE(run(tiny_experiment()).summary.target.has_value());
}

// ---- what a comparison of real runs refuses ----

class PlantedTruth : public ::testing::Test {
 protected:
  Comparison compared(const std::vector<std::string>& first, const std::vector<std::string>& second) {
    const std::vector<RunRecord> runs = {run(first), run(second)};
    return compare(runs, {.on_difference = OnDifference::kForce});
  }
  RunRecord run(const std::vector<std::string>& overrides, const std::vector<Observer*>& observers = {}) {
    return load_run(testing::run_quietly(tiny_experiment(overrides), out_.path(), observers).folder);
  }
  void expect_refused(const std::vector<std::string>& overrides, const std::string& reason) {
    EXPECT_THAT(compared({"layer=naive"}, overrides).forced, Contains(StartsWith(reason))) << overrides[0];
  }

 private:
  TemporaryFolder out_;
};

TEST_F(PlantedTruth, LayersAreComparableAndAgree) {
  const Comparison comparison = compared({"layer=naive"}, {"layer=fused"});
  EXPECT_THAT(comparison.forced, IsEmpty());
  EXPECT_THAT(texts_of(comparison.warnings), Not(Contains(HasSubstr("losses differ"))));
  EXPECT_LT(comparison.groups[1].loss_agreement.value().largest_difference, 1e-4);
  EXPECT_GT(comparison.groups[1].fit_seconds.value(), comparison.groups[1].seconds.value());
}

// No kind of run gets a warning of the consistency checks.
TEST_F(PlantedTruth, NoRunHasAConsistencyWarning) {
  for (const std::vector<std::string>& overrides :
       std::vector<std::vector<std::string>>{{"layer=naive"},
                                             {"data.num_valid=0", "training.drop_last=true"},
                                             {"training.epochs=10", "training.max_steps=9"},
                                             {"training.accumulate=3", "checkpoint.save=false"}})
    for (const Warning& warning : compared(overrides, overrides).warnings)
      for (const char* word :
           {"WRONG", "IMPOSSIBLE", "UNEQUAL EPOCHS", "UNSYNCHRONISED", "UNPROVEN", "OTHER PRECISION", "WARM-UP"})
        EXPECT_THAT(warning.text, Not(HasSubstr(word))) << overrides[0];
}

TEST_F(PlantedTruth, EveryUnequalConditionIsRefused) {
  expect_refused({"training.batch_size=40"}, "batch size: 50 in cpu naive");
  expect_refused({"data.num_train=150"}, "data: ");
  expect_refused({"data.seed=7"}, "data: ");
  expect_refused({"training.shuffle=false"}, "order of the samples of seed 1: ");
  expect_refused({"model.initialization=xavier"}, "initial weights of seed 1: ");
  expect_refused({"model.activation=relu", "layer=naive"}, "model: ");
  expect_refused({"model.output_dropout=0.5"}, "model: ");
  expect_refused({"training.warmup_epochs=0"}, "first epoch: left out as warm-up in cpu naive");
  expect_golden(compared({"training.num_threads=1"}, {"training.num_threads=2"}).forced);
}

TEST_F(PlantedTruth, ADifferentSeedIsAWarning) {
  EXPECT_THAT(texts_of(compared({"seed=1"}, {"layer=naive", "seed=2"}).warnings),
              Contains(StartsWith("DIFFERENT INITIAL WEIGHTS ")));
}

// Starts a process that uses the GPU when the second epoch begins, and keeps it.
class StartOnGpu : public Observer {
 public:
  ~StartOnGpu() override {
    if (process_ > 0) ::kill(process_, SIGKILL);
    if (output_ != nullptr) ::pclose(output_);
  }
  void on_epoch_begin(const TrainingState& state) override {
    if (state.epoch != 2) return;
    output_ = ::popen(RNNLAB_OTHER_GPU_PROCESS, "r");
    if (output_ == nullptr || std::fscanf(output_, "%d", &process_) != 1) process_ = 0;
  }
  bool has_started() const { return process_ > 0; }

 private:
  FILE* output_ = nullptr;
  pid_t process_ = 0;
};

TEST_F(PlantedTruth, ANewProcessOnTheGpuIsAWarning) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const std::vector<std::string> overrides = {"device=cuda", "training.epochs=4"};
  const RunRecord alone = run(overrides);
  const size_t before = survey_gpus().gpus.at(0).compute_pids.size();
  StartOnGpu visit;
  const RunRecord visited = run(overrides, {&visit});
  ASSERT_TRUE(visit.has_started());
  if (survey_gpus().gpus.at(0).compute_pids.size() == before)
    GTEST_SKIP() << "NVML does not list the processes on the GPU";
  EXPECT_THAT(texts_of(compare({visited}, {}).warnings), Contains(HasSubstr("WAS SHARED: 1 other process ")));
  EXPECT_THAT(texts_of(compare({alone}, {}).warnings), Not(Contains(HasSubstr("WAS SHARED: 1 other process"))));
}

// ---- images ----

// Two epochs of four steps, with dropout.
constexpr const char* kImages = R"(name: images
device: cpu
data: {source: digits, num_train: 200, num_valid: 50}
model: {kind: image_classifier, dense: [32], dense_dropout: 0.5}
training: {epochs: 2, batch_size: 50}
deterministic: true
checkpoint: {every_seconds: 0}
)";

class ImageRun : public testing::ResumedRun {
 protected:
  std::filesystem::path train_images(const std::vector<std::string>& overrides,
                                     const std::vector<Observer*>& observers = {}) {
    return train(kImages, overrides, observers).finished.at(0).folder;
  }
};

TEST_F(ImageRun, IsNamedByHowItsConvolutionsAreComputed) {
  const auto folder = train_images({"convolution=channels_last", "training.epochs=1"});
  EXPECT_THAT(folder.filename().string(), ::testing::EndsWith("-cpu-channels_last"));
  const Summary summary = read_summary(folder);
  EXPECT_EQ(summary.layer, "channels_last");
  EXPECT_EQ(summary.path, "oneDNN convolution (float32)");
  EXPECT_THAT(testing::read_text(folder / kLogFile), HasSubstr("layer     channels_last, "));
}

TEST_F(ImageRun, LearnsTheSameHoweverItIsComputed) {
  const auto row_of = [&](const std::string& convolution, const std::string& num_convolutions) {
    return read_epochs(train_images({"convolution=" + convolution, "model.num_convolutions=" + num_convolutions,
                                     "data.num_train=100", "training.epochs=1"}))
        .back();
  };
  for (const std::string num_convolutions : {"2", "4"}) {
    const EpochRow plain = row_of("plain", num_convolutions);
    for (const std::string convolution : {"channels_last", "fused_pool", "fused"}) {
      const EpochRow other = row_of(convolution, num_convolutions);
      EXPECT_NEAR(other.train_loss, plain.train_loss, 1e-4 * plain.train_loss) << convolution;
      EXPECT_NEAR(other.valid_loss.value(), plain.valid_loss.value(), 1e-4 * plain.valid_loss.value()) << convolution;
    }
  }
}

TEST_F(ImageRun, EndsAsIfItHadNotStopped) {
  const FinalState whole = final_state(train_images({}));
  for (const int64_t step : {3, 4, 6}) {
    testing::StopAtStep stop(step);
    const auto stopped = train_images({}, {&stop});
    EXPECT_EQ(resume(stopped).exit_code, ExitCode::kDone);
    EXPECT_EQ(final_state(stopped), whole) << "stopped after step " << step;
  }
}

class ImageRunOnCuda : public ImageRun {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  }
};

TEST_F(ImageRunOnCuda, IsTheSameBitForBitAsCudaGraphs) {
  for (const std::string precision : {"fp32", "tf32", "bf16", "fp16"})
    for (const std::string convolution : {"plain", "channels_last", "fused_pool", "fused"}) {
      SCOPED_TRACE(precision + " " + convolution);
      const auto run_with = [&](const std::string& graphs) {
        return train_images(
            {"device=cuda", "precision=" + precision, "convolution=" + convolution, "training.cuda_graph=" + graphs});
      };
      const auto graphs = run_with("true");
      EXPECT_THAT(read_summary(graphs).path_notes, ::testing::Contains(HasSubstr("(training.cuda_graph)")));
      EXPECT_EQ(final_state(graphs), final_state(run_with("false")));
    }
}

TEST_F(ImageRunOnCuda, NamesOwnKernelsOrTheReasonAgainstThem) {
  const auto summary_of = [&](const std::string& num_convolutions) {
    return read_summary(train_images({"device=cuda", "model.num_convolutions=" + num_convolutions}));
  };
  if (!has_own_kernels_here()) {
    EXPECT_THAT(summary_of("2").path, HasSubstr("LibTorch's operators"));
    EXPECT_THAT(summary_of("2").path_notes, ::testing::Contains(HasSubstr("no own kernels")));
    return;
  }
  EXPECT_THAT(summary_of("2").path, ::testing::StartsWith("own kernel "));
  EXPECT_THAT(summary_of("4").path, ::testing::StartsWith("cuDNN convolution (float32); "));
}

}  // namespace
}  // namespace rnnlab
