// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace rnnlab {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const auto kNeverStop = [] { return false; };

// Returns a program that takes a second for each iteration and logs its runs.
std::function<double(int64_t)> logged(std::vector<int>& log, int name) {
  return [&log, name](int64_t iterations) {
    log.push_back(name);
    return static_cast<double>(iterations);
  };
}

std::vector<SampledGroup> two_groups_of_two(std::vector<int>& log) {
  std::vector<SampledGroup> groups(2);
  groups[0].programs = {logged(log, 0), logged(log, 1)};
  groups[1].programs = {logged(log, 2), logged(log, 3)};
  return groups;
}

SamplingPlan plan_of(int64_t repeats, int64_t warmup) {
  return {.repeats = repeats, .min_seconds = 0, .sample_seconds = 0.5, .warmup = warmup, .seed = 1};
}

// Returns the log without the first two runs of each program, which choose the iterations.
std::vector<std::vector<int>> rounds_of(const std::vector<int>& log) {
  std::vector<std::vector<int>> rounds;
  for (size_t i = 8; i + 4 <= log.size(); i += 4)
    rounds.emplace_back(log.begin() + static_cast<long>(i), log.begin() + static_cast<long>(i) + 4);
  return rounds;
}

TEST(IterationsFor, ALongProgramRunsOnce) {
  EXPECT_EQ(iterations_for([](int64_t n) { return 0.01 * static_cast<double>(n); }, 0.002), 1);
}

TEST(IterationsFor, AShortProgramIsRepeatedUntilTheSampleIsLongEnough) {
  EXPECT_EQ(iterations_for([](int64_t n) { return 1e-4 * static_cast<double>(n); }, 0.002), 22);
}

TEST(IterationsFor, ASlowFirstRunDoesNotCount) {
  int num_runs = 0;
  const auto program = [&](int64_t n) { return num_runs++ == 0 ? 100.0 : 1e-3 * static_cast<double>(n); };
  EXPECT_EQ(iterations_for(program, 0.002), 3);
}

TEST(IterationsFor, GrowsStepByStepWhenTheClockIsTooCoarse) {
  std::vector<int64_t> asked;
  const auto program = [&](int64_t n) {
    asked.push_back(n);
    return n < 5000 ? 0.0 : 1.0;
  };
  EXPECT_EQ(iterations_for(program, 0.002), 10000);
  EXPECT_THAT(asked, ElementsAre(1, 1, 100, 10000));
}

TEST(IterationsFor, EndsForAProgramThatTakesNoTimeAtAll) {
  EXPECT_EQ(iterations_for([](int64_t) { return 0.0; }, 0.002), 1'000'000);
}

TEST(Sampling, EveryRoundHasEveryProgramOnce) {
  std::vector<int> log;
  auto groups = two_groups_of_two(log);
  sample_interleaved(groups, plan_of(5, 2), kNeverStop);
  const auto rounds = rounds_of(log);
  EXPECT_THAT(rounds, SizeIs(7));
  for (std::vector<int> round : rounds) {
    std::ranges::sort(round);
    EXPECT_THAT(round, ElementsAre(0, 1, 2, 3));
  }
}

TEST(Sampling, RoundsHaveOrdersOfTheirOwnThatTheSeedDecides) {
  std::vector<int> log, again, other;
  auto groups = two_groups_of_two(log);
  sample_interleaved(groups, plan_of(20, 0), kNeverStop);
  const auto rounds = rounds_of(log);
  EXPECT_GT(std::set(rounds.begin(), rounds.end()).size(), 5u);
  groups = two_groups_of_two(again);
  sample_interleaved(groups, plan_of(20, 0), kNeverStop);
  EXPECT_EQ(again, log);
  groups = two_groups_of_two(other);
  SamplingPlan plan = plan_of(20, 0);
  plan.seed = 2;
  sample_interleaved(groups, plan, kNeverStop);
  EXPECT_NE(other, log);
}

TEST(Sampling, WarmupRoundsAreNotCounted) {
  int num_runs = 0;
  std::vector<SampledGroup> groups(1);
  groups[0].programs = {[&](int64_t) { return static_cast<double>(++num_runs); }};
  sample_interleaved(groups, plan_of(3, 2), kNeverStop);
  EXPECT_THAT(groups[0].samples.at(0), ElementsAre(5, 6, 7)) << "two runs to choose the iterations, two rounds";
}

TEST(Sampling, ASampleIsTheMeanOfItsIterations) {
  std::vector<SampledGroup> groups(1);
  groups[0].programs = {[](int64_t n) { return 0.125 * static_cast<double>(n); }};
  sample_interleaved(groups, plan_of(3, 0), kNeverStop);
  EXPECT_EQ(groups[0].iterations.at(0), 5);
  EXPECT_THAT(groups[0].samples.at(0), ElementsAre(0.125, 0.125, 0.125));
}

TEST(Sampling, GoesOnUntilItTookLongEnough) {
  std::vector<SampledGroup> groups(1);
  groups[0].programs = {[](int64_t) { return 1.0; }};
  SamplingPlan plan = plan_of(3, 4);
  plan.min_seconds = 10;
  sample_interleaved(groups, plan, kNeverStop);
  EXPECT_THAT(groups[0].samples.at(0), SizeIs(10)) << "warm-up does not count";
}

TEST(Sampling, AProgramThatThrowsTakesItsGroupOutAndNoOther) {
  int num_runs = 0;
  std::vector<SampledGroup> groups(2);
  groups[0].programs = {[](int64_t) { return 1.0; },
                        [&](int64_t) -> double {
                          if (++num_runs == 5) throw std::runtime_error("out of memory");
                          return 1.0;
                        }};
  groups[1].programs = {[](int64_t) { return 1.0; }};
  sample_interleaved(groups, plan_of(6, 1), kNeverStop);
  EXPECT_TRUE(groups[0].failure);
  EXPECT_THAT(groups[0].samples, Each(IsEmpty()));
  EXPECT_FALSE(groups[1].failure);
  EXPECT_THAT(groups[1].samples.at(0), SizeIs(6));
}

TEST(Sampling, NothingToSampleEnds) {
  std::vector<SampledGroup> groups(1);
  groups[0].failure = std::make_exception_ptr(std::runtime_error("refused"));
  sample_interleaved(groups, plan_of(6, 1), kNeverStop);
  EXPECT_TRUE(groups[0].failure);
}

TEST(Sampling, StoppingKeepsTheRoundsThatAreWhole) {
  std::vector<int> log;
  auto groups = two_groups_of_two(log);
  const auto stop = [&] { return log.size() >= 8 + 4 + 4 + 3; };  // in the middle of the second round that counts
  sample_interleaved(groups, plan_of(6, 1), stop);
  for (const SampledGroup& group : groups) EXPECT_THAT(group.samples, Each(SizeIs(1)));
}

TEST(Sampling, StoppingInWarmupLeavesNothing) {
  std::vector<int> log;
  auto groups = two_groups_of_two(log);
  sample_interleaved(groups, plan_of(6, 3), [&] { return log.size() >= 10; });
  for (const SampledGroup& group : groups) EXPECT_THAT(group.samples, Each(IsEmpty()));
}

}  // namespace
}  // namespace rnnlab
