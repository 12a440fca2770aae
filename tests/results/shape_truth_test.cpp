// SPDX-License-Identifier: Apache-2.0
// Plants times with a doubtful shape into one of two runs that are otherwise comparable: a warning above the table
// names each, although the median does not show it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/system/temporary_folder.h"
#include "results/comparison.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The warm-up epoch is not counted.
using Seconds = std::vector<double>;

const Seconds kHonest = {9, 2.0, 2.3, 2.1, 2.2, 2.05, 2.15, 2.25, 2.12};

class ShapeTruth : public ::testing::Test {
 protected:
  std::vector<std::string> warnings_of(const Seconds& seconds) {
    sample_run("cpu", "naive", 1, kHonest).write(folder_.path() / "a");
    sample_run("cpu", "fused", 1, seconds).write(folder_.path() / "b");
    const std::vector<RunRecord> runs = {load_run(folder_.path() / "a"), load_run(folder_.path() / "b")};
    return texts_of(compare(runs, {}).warnings);
  }

  TemporaryFolder folder_;
};

TEST_F(ShapeTruth, HonestTimesAreNotReported) {
  EXPECT_THAT(warnings_of({8, 1.0, 1.3, 1.1, 1.2, 1.05, 1.15, 1.25, 1.12}), IsEmpty());
}

struct Plant {
  const char* name;
  Seconds seconds;
  const char* warning;
};

class PlantedShape : public ShapeTruth, public ::testing::WithParamInterface<Plant> {};

TEST_P(PlantedShape, IsReported) {
  EXPECT_THAT(warnings_of(GetParam().seconds), ElementsAre(std::string("cpu fused: ") + GetParam().warning));
}

INSTANTIATE_TEST_SUITE_P(
    AllKinds, PlantedShape,
    ::testing::Values(Plant{"AnEpochOfAHundredTimes",
                            {8, 1.0, 1.1, 1.02, 100, 1.05, 0.98, 1.01, 1.03},
                            "epoch 5 is an outlier: it took 100 s, 97.6 times the median of 1.025 "
                            "s; check what else ran, or measure again"},
                      Plant{"EpochsThatEachTakeAFifthMore",
                            {8, 1.0, 1.2, 1.44, 1.728, 2.0736, 2.48832, 2.985984, 3.5831808},
                            "the times drift: 3.58 times as long from epoch 2 to 9, so no median "
                            "represents all; wait until the machine is stable, and measure again"},
                      Plant{"AFirstHalfOfThreeTimes",
                            {8, 3.0, 3.1, 2.95, 3.02, 1.0, 1.02, 0.99, 1.01},
                            "two kinds of epochs: 4 of 1.005 s and 4 of 3.01 s, no time in between, so "
                            "the median is that of one kind; check what changed, and measure again"},
                      Plant{"ASecondEpochThatIsNotWarm",
                            {40, 10.0, 1.1, 1.02, 1.0, 1.05, 0.98, 1.01, 1.03},
                            "epoch 2 is not warm yet: it took 10 s, the others 1.02 s in the "
                            "median; set training.warmup_epochs=2 to exclude it"},
                      Plant{"EpochsOfOneTime",
                            {1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
                            "8 epochs took 0.1 s each, equal to the last digit: no clock measures "
                            "that, so check the source of the times"}),
    [](const auto& plant) { return std::string(plant.param.name); });

// ---- all runs of one side before the other side ----

class OrderTruth : public ::testing::Test {
 protected:
  // `minutes` has the start of each run.
  void add(const std::string& layer, const std::vector<int>& minutes) {
    for (const int minute : minutes) {
      SampleRun run = sample_run("cpu", layer, 1, kHonest);
      run.environment.start_time = fmt::format("2026-11-21T02:{:02}:00Z", minute);
      const auto folder = folder_.path() / fmt::format("{}{}", layer, minute);
      run.write(folder);
      runs_.push_back(load_run(folder));
    }
  }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

constexpr const char* kOrder =
    "cpu naive was measured as a whole before cpu fused: a drift of the machine would look like a difference; use "
    "repeats to alternate the runs";

TEST_F(OrderTruth, IsAWarningWhereAnIntervalClaimsSomething) {
  add("naive", {1, 2, 3});
  add("fused", {4, 5, 6});
  const auto warnings = compare(runs_, {}).warnings;
  EXPECT_THAT(warnings, ElementsAre(Warning{"one_after_the_other", kOrder}));
}

TEST_F(OrderTruth, IsANoteWhereNothingIsClaimed) {
  add("naive", {1});
  add("fused", {4});
  const Comparison comparison = compare(runs_, {});
  EXPECT_THAT(comparison.warnings, IsEmpty());
  EXPECT_THAT(comparison.notes, ::testing::Contains(kOrder));
}

TEST_F(OrderTruth, IsNotReportedForAlternatingRuns) {
  add("naive", {1, 4, 5});
  add("fused", {2, 3, 6});
  const Comparison comparison = compare(runs_, {});
  EXPECT_THAT(comparison.warnings, IsEmpty());
  EXPECT_THAT(comparison.notes, ::testing::Not(::testing::Contains(kOrder)));
}

}  // namespace
}  // namespace rnnlab::testing
