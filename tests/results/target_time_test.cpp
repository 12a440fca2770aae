// SPDX-License-Identifier: Apache-2.0
// Tests the seconds until training.stop_at was reached, over the runs of a group.
#include <gtest/gtest.h>

#include <cmath>

#include "results/comparison.h"
#include "results/sample_runs.h"

namespace rnnlab {
namespace {

using testing::group_of;

// Returns runs whose training reached an accuracy after these seconds; nothing for one that did not.
std::vector<RunRecord> runs_to_target(const std::vector<std::optional<double>>& seconds) {
  std::vector<RunRecord> runs;
  for (const auto& one : seconds) {
    RunRecord& run = runs.emplace_back();
    run.summary.target = TargetRecord{.stop_at = {{"valid_accuracy", 0.98}},
                                      .epoch = one ? std::optional<int64_t>(2) : std::nullopt,
                                      .train_seconds = one};
  }
  return runs;
}

TEST(TargetTime, HasAnIntervalWhereAllRunsReachedIt) {
  const auto runs = runs_to_target({10, 11, 12});
  const TargetTime time = target_time(group_of(runs)).value();
  EXPECT_EQ(time.num_reached, 3);
  EXPECT_NEAR(time.seconds.value(), std::cbrt(10.0 * 11 * 12), 1e-12);
  EXPECT_LT(time.low_seconds.value(), 10.5);
  EXPECT_GT(time.high_seconds.value(), 11.5);
}

TEST(TargetTime, IsAbsentWhereARunDidNotReachIt) {
  const auto runs = runs_to_target({10, std::nullopt, 12});
  const TargetTime time = target_time(group_of(runs)).value();
  EXPECT_EQ(time.num_reached, 2);
  EXPECT_EQ(time.num_runs, 3);
  EXPECT_EQ(time.seconds, std::nullopt);
  const auto two = runs_to_target({10, 11});
  EXPECT_EQ(target_time(group_of(two))->low_seconds, std::nullopt) << "two runs are too few for an interval";
}

TEST(TargetTime, IsOfRunsWithOneTarget) {
  auto runs = runs_to_target({10, 11});
  runs[1].summary.target->stop_at = {{"valid_accuracy", 0.99}};
  EXPECT_FALSE(target_time(group_of(runs)).has_value());
  runs[1].summary.target.reset();
  EXPECT_FALSE(target_time(group_of(runs)).has_value());
}

}  // namespace
}  // namespace rnnlab
