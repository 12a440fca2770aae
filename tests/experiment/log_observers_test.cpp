#include "experiment/log_observers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "checkpoint/checkpoint_folder.h"
#include "experiment/tiny_experiment.h"
#include "results/run_folder.h"
#include "system/temporary_folder.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;
using testing::tiny_experiment;

// The steps that a run of three epochs of four steps has saved, with what `checkpoint:` says.
class SavedSteps : public ::testing::Test {
 protected:
  std::vector<int64_t> steps(const std::vector<std::string>& overrides) {
    std::vector<std::string> all = {"deterministic=true", "training.num_threads=1", "checkpoint.keep=100"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    Logger logger(Verbosity::kQuiet, Terminal{});
    const auto run =
        run_experiment(tiny_experiment(all), {.out = out_.path(), .command_line = {}, .console = {}}, logger);
    folder_ = run.folder / kCheckpointsFolder;
    std::vector<int64_t> steps;
    for (const CheckpointPlace& place : list_checkpoints(folder_)) steps.push_back(place.step);
    return steps;
  }

  std::optional<CheckpointPlace> best() const { return best_checkpoint(folder_); }

 private:
  TemporaryFolder out_;
  std::filesystem::path folder_;
};

TEST_F(SavedSteps, AreTheEndsOfEpochs) {
  EXPECT_THAT(steps({"checkpoint.every_seconds=0"}), ElementsAre(4, 8, 12));
  EXPECT_THAT(steps({"checkpoint.every_seconds=0", "checkpoint.every_epochs=2", "checkpoint.best=false"}),
              ElementsAre(8, 12));
}

TEST_F(SavedSteps, AreNoneSoonAfterOneButTheLastAndTheBest) {
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000"}), ElementsAre(12)) << "the best one that was held back is it";
  EXPECT_EQ(best().value().step, 12);
  // Where nothing is learned, the first epoch stays the best.
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000", "training.learning_rate=1e-30"}), ElementsAre(4, 12));
  EXPECT_EQ(best().value().step, 4);
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000", "training.learning_rate=1e-30", "checkpoint.best=false"}),
              ElementsAre(12));
  EXPECT_FALSE(best());
}

TEST_F(SavedSteps, AreThoseOfEverySoManySteps) {
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000", "checkpoint.every_steps=3", "checkpoint.best=false"}),
              ElementsAre(3, 6, 9, 12));
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000", "checkpoint.every_steps=4"}), ElementsAre(4, 8, 12));
}

TEST_F(SavedSteps, AreTheNewestThatAreKeptAndTheBest) {
  const std::vector<std::string> often = {"checkpoint.every_seconds=0", "checkpoint.every_steps=1"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), often.begin(), often.end());
    return more;
  };
  EXPECT_THAT(steps(with({"checkpoint.keep=3"})), ElementsAre(10, 11, 12));
  EXPECT_THAT(steps(with({"checkpoint.keep=1"})), ElementsAre(11, 12)) << "one older stays";
  EXPECT_THAT(steps(with({"checkpoint.keep=2", "training.learning_rate=1e-30"})), ElementsAre(4, 11, 12));
  EXPECT_EQ(best().value().step, 4);
}

TEST_F(SavedSteps, AreTheLastOneOnlyWhereEveryEpochsIsNought) {
  EXPECT_THAT(steps({"checkpoint.every_epochs=0", "checkpoint.best=false"}), ElementsAre(12));
}

TEST_F(SavedSteps, AreNoneWhereNothingShallBeSaved) { EXPECT_THAT(steps({"checkpoint.save=false"}), IsEmpty()); }

}  // namespace
}  // namespace rnnlab
