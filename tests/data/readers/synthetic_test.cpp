#include "data/readers/generated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rnnlab {
namespace {

std::vector<float> normals(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  fill_normal(values, seed);
  return values;
}

// Each count is cut at other places, odd ones among them, and shared out over the threads.
TEST(FillNormal, GivesEveryIndexItsValueHoweverManyThereAre) {
  const std::vector<float> all = normals(1001, 7);
  for (const size_t count : {1u, 2u, 3u, 7u, 500u, 999u})
    EXPECT_TRUE(std::ranges::equal(normals(count, 7), std::span(all).first(count))) << count;
  EXPECT_NE(normals(1001, 8), all);
}

TEST(FillNormal, TakesAnEmptyRange) { fill_normal({}, 1); }

TEST(RandomTargets, AreNotTheInputsOfTheSameSeed) {
  const std::vector<float> targets = random_targets(1000, 7);
  EXPECT_EQ(random_targets(1000, 7), targets);
  EXPECT_NE(targets, normals(1000, 7));
  EXPECT_NEAR(std::inner_product(targets.begin(), targets.end(), targets.begin(), 0.) / 1000, 1, 0.25);
}

TEST(LearnableScores, AreNormalAndFollowFromTheInputs) {
  const std::vector<float> inputs = normals(20'000 * 4 * 3, 1);
  const std::vector<float> scores = learnable_scores(inputs, 4, 3, 9);
  ASSERT_EQ(scores.size(), 20'000u);
  const double squares = std::inner_product(scores.begin(), scores.end(), scores.begin(), 0.);
  EXPECT_NEAR(squares / 20'000, 1, 0.05);
  const std::span<const float> third = std::span(inputs).subspan(2 * 12, 12);
  EXPECT_EQ(learnable_scores(third, 4, 3, 9)[0], scores[2]);
}

TEST(LearnableScores, AddUpOneDirectionOverTheSteps) {
  const std::vector<float> step = {0.5F, -1.0F};
  const std::vector<float> twice = {0.5F, -1.0F, 0.5F, -1.0F};
  const float one = learnable_scores(step, 1, 2, 3)[0];
  EXPECT_NEAR(learnable_scores(twice, 2, 2, 3)[0], 2 * one / std::sqrt(2.0F), 1e-6);
}

TEST(ClassesOfScores, CutAtTheQuantiles) {
  EXPECT_THAT(classes_of_scores(std::vector<float>{-9, -0.7F, -0.6F, -0.1F, 0.1F, 0.7F, 40}, 4),
              testing::ElementsAre(0, 0, 1, 1, 2, 3, 3));
  const std::vector<int64_t> classes = classes_of_scores(normals(50'000, 2), 5);
  for (int64_t c = 0; c < 5; ++c) EXPECT_NEAR(static_cast<double>(std::ranges::count(classes, c)), 10'000, 500);
}

}  // namespace
}  // namespace rnnlab
