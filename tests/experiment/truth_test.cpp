// Whether real runs that differ in what a comparison must hold equal leave that in their records: the untruths of
// results/truth_test.cpp, planted in experiments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/run_experiment.h"
#include "experiment/tiny_experiment.h"
#include "results/comparison.h"
#include "results/temporary_folder.h"

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
  void expect_refused(const std::vector<std::string>& overrides, const std::string& reason) {
    EXPECT_THAT(compared({"layer=naive"}, overrides).forced, Contains(StartsWith(reason))) << overrides[0];
  }

 private:
  RunRecord run(const std::vector<std::string>& overrides) {
    Logger logger(Verbosity::kQuiet, Terminal{});
    const RunRequest request{.out = out_.path(), .command_line = {"rnnlab", "train"}, .console = {}};
    return load_run(run_experiment(tiny_experiment(overrides), request, logger).folder);
  }

  TemporaryFolder out_;
};

TEST_F(PlantedTruth, LayersAreComparableAndAgree) {
  const Comparison comparison = compared({"layer=naive"}, {"layer=fused"});
  EXPECT_THAT(comparison.forced, IsEmpty());
  EXPECT_THAT(comparison.warnings, Not(Contains(HasSubstr("LOSSES PART"))));
  EXPECT_LT(comparison.groups[1].loss_agreement.value().largest_difference, 1e-4);
  EXPECT_GT(comparison.groups[1].fit_seconds.value(), comparison.groups[1].median_seconds.value());
}

// Whatever a run is, it does not contradict itself.
TEST_F(PlantedTruth, NoRunContradictsItself) {
  for (const std::vector<std::string>& overrides :
       std::vector<std::vector<std::string>>{{"layer=naive"},
                                             {"data.num_valid=0", "training.drop_last=true"},
                                             {"training.epochs=10", "training.max_steps=9"},
                                             {"training.accumulate=3", "checkpoint.save=false"}})
    for (const std::string& warning : compared(overrides, overrides).warnings)
      for (const char* word :
           {"WRONG", "IMPOSSIBLE", "UNEQUAL EPOCHS", "UNSYNCHRONISED", "UNPROVEN", "OTHER PRECISION", "WARM-UP"})
        EXPECT_THAT(warning, Not(HasSubstr(word))) << overrides[0];
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
  expect_refused({"training.num_threads=1"}, "number of threads: ");
}

TEST_F(PlantedTruth, AnotherSeedIsShouted) {
  EXPECT_THAT(compared({"seed=1"}, {"layer=naive", "seed=2"}).warnings,
              Contains(StartsWith("OTHER INITIAL WEIGHTS AND ANOTHER ORDER OF THE SAMPLES: no seed is in both")));
}

}  // namespace
}  // namespace rnnlab
