// SPDX-License-Identifier: Apache-2.0
// Checks that real runs record the differences that a comparison refuses: results/truth_test.cpp changes records, this
// test changes experiments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/system/gpu_info.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/comparison.h"
#include "runs/run.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_experiment;

class PlantedTruth : public ::testing::Test {
 protected:
  Comparison compared(const std::vector<std::string>& first, const std::vector<std::string>& second) {
    const std::vector<RunRecord> runs = {run(first), run(second)};
    return compare(runs, {.baseline = "", .on_difference = OnDifference::kForce});
  }
  RunRecord run(const std::vector<std::string>& overrides, const std::vector<Observer*>& observers = {}) {
    Logger logger(Verbosity::kQuiet, Terminal{});
    const RunRequest request{
        .out = out_.path(), .command_line = {"rnnlab", "train"}, .console = {}, .observers = observers};
    return load_run(run_experiment(tiny_experiment(overrides), request, logger).folder);
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
              Contains(StartsWith("DIFFERENT INITIAL WEIGHTS AND ORDER OF THE SAMPLES: no seed is in both")));
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
  EXPECT_THAT(texts_of(compare({visited}, {}).warnings),
              Contains(HasSubstr("WAS SHARED: 1 other process started during the run")));
  EXPECT_THAT(texts_of(compare({alone}, {}).warnings), Not(Contains(HasSubstr("WAS SHARED: 1 other process"))));
}

}  // namespace
}  // namespace rnnlab
