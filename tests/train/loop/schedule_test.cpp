// SPDX-License-Identifier: Apache-2.0
#include "train/loop/schedule.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "base/error.h"
#include "train/loop/training_settings.h"

namespace rnnlab {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

std::vector<double> rates(const Schedule& schedule, const std::vector<int64_t>& steps) {
  std::vector<double> values;
  for (const int64_t step : steps) values.push_back(learning_rate_at(schedule, step));
  return values;
}

void expect_rates(const Schedule& schedule, const std::vector<int64_t>& steps, const std::vector<double>& expected) {
  EXPECT_THAT(rates(schedule, steps), Pointwise(DoubleNear(1e-12), expected));
}

Schedule schedule_of(ScheduleKind kind, double decay_rate, int64_t decay_steps) {
  Schedule schedule;
  schedule.kind = kind;
  schedule.learning_rate = 0.1;
  schedule.decay_rate = decay_rate;
  schedule.decay_steps = decay_steps;
  return schedule;
}

// A kind that the list lacks is a defect of rnnlab, and not taken for another.
TEST(Schedule, HasARecordForEachName) {
  std::set<const ScheduleInfo*> records;
  for (const auto& [kind, name] : config::EnumNames<ScheduleKind>::kNames) records.insert(&info_of(kind));
  EXPECT_EQ(records.size(), config::EnumNames<ScheduleKind>::kNames.size());
  EXPECT_THROW(info_of(static_cast<ScheduleKind>(99)), InvariantError);
}

TEST(Schedule, ConstantStays) {
  expect_rates(schedule_of(ScheduleKind::kConstant, 1, 1), {0, 1, 1000000}, {0.1, 0.1, 0.1});
}

TEST(Schedule, StepFallsAtEachMultipleOfDecaySteps) {
  expect_rates(schedule_of(ScheduleKind::kStep, 0.5, 10), {0, 9, 10, 19, 20, 30},
               {0.1, 0.1, 0.05, 0.05, 0.025, 0.0125});
}

TEST(Schedule, PlateauFallsWithTheNumberOfPlateausOnly) {
  auto schedule = schedule_of(ScheduleKind::kPlateau, 0.5, 1);
  schedule.minimum = 0.02;
  schedule.warmup_steps = 4;
  expect_rates(schedule, {0, 3, 4, 1000}, {0.025, 0.1, 0.1, 0.1});
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 1000, 1), 0.05);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 5, 2), 0.025);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 1000, 3), 0.02) << "the minimum";
}

TEST(Schedule, CosineFallsToTheMinimumAndStaysThere) {
  auto schedule = schedule_of(ScheduleKind::kCosine, 1, 8);
  schedule.minimum = 0.02;
  expect_rates(schedule, {0, 2, 4, 6, 8, 100},
               {0.1, 0.06 + 0.04 * 0.70710678118654752, 0.06, 0.06 - 0.04 * 0.70710678118654752, 0.02, 0.02});
}

TEST(Schedule, InverseTimeWithOneDecayStepIsKerasDecay) {
  auto schedule = schedule_of(ScheduleKind::kInverseTime, 1e-5, 1);
  schedule.learning_rate = 1e-3;
  expect_rates(schedule, {0, 100, 100000}, {1e-3, 1e-3 / 1.001, 0.5e-3});
}

TEST(Schedule, InverseTimeHalvesAfterDecaySteps) {
  expect_rates(schedule_of(ScheduleKind::kInverseTime, 1.0, 10), {0, 10, 30}, {0.1, 0.05, 0.025});
}

TEST(Schedule, ExponentialFallsSmoothly) {
  expect_rates(schedule_of(ScheduleKind::kExponential, 0.25, 10), {0, 5, 10, 20}, {0.1, 0.05, 0.025, 0.00625});
}

TEST(Schedule, WarmUpGrowsLinearlyAndThenTheScheduleBegins) {
  auto schedule = schedule_of(ScheduleKind::kExponential, 0.5, 1);
  schedule.warmup_steps = 4;
  expect_rates(schedule, {0, 1, 2, 3, 4, 5}, {0.025, 0.05, 0.075, 0.1, 0.1, 0.05});
}

TEST(Schedule, NeverGoesBelowTheMinimum) {
  auto schedule = schedule_of(ScheduleKind::kExponential, 0.5, 1);
  schedule.minimum = 0.03;
  expect_rates(schedule, {1, 2, 50}, {0.05, 0.03, 0.03});
}

TEST(MakeSchedule, CosineReachesItsMinimumAtTheEndOfTheRun) {
  TrainingSettings settings;
  settings.schedule = ScheduleKind::kCosine;
  settings.warmup_steps = 20;
  const auto schedule = make_schedule(settings, 120);
  EXPECT_EQ(schedule.decay_steps, 100);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 120), 0.0);
}

TEST(MakeSchedule, TakesWhatTheFileSays) {
  TrainingSettings settings;
  settings.schedule = ScheduleKind::kStep;
  settings.learning_rate = 0.2;
  settings.decay_rate = 0.1;
  settings.decay_steps = 5;
  settings.minimum_learning_rate = 0.01;
  const auto schedule = make_schedule(settings, 100);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 5), 0.02);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 50), 0.01);
}

}  // namespace
}  // namespace rnnlab
