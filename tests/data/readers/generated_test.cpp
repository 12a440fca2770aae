// SPDX-License-Identifier: Apache-2.0
#include "data/readers/generated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>
#include <vector>

#include "base/sha256.h"
#include "golden.h"

namespace rnnlab {
namespace {

constexpr size_t kNumPixels = kDigitSize * kDigitSize;
constexpr size_t kNumDigits = 10;

TEST(GenerateDigits, GivesImagesAndLabels) {
  const LabelledImages digits = generate_digits(25, 1, DigitSplit::kTrain);
  EXPECT_EQ(digits.images.type, ElementType::kU8);
  EXPECT_EQ(digits.images.shape, (std::vector<int64_t>{25, 28, 28}));
  EXPECT_EQ(digits.labels.shape, std::vector<int64_t>{25});
  EXPECT_EQ(digits.images.bytes.size(), 25 * kNumPixels);
}

TEST(GenerateDigits, IsAPureFunctionOfSeedSplitAndIndex) {
  const LabelledImages few = generate_digits(15, 3, DigitSplit::kTrain);
  const LabelledImages many = generate_digits(200, 3, DigitSplit::kTrain);
  EXPECT_TRUE(std::equal(few.images.bytes.begin(), few.images.bytes.end(), many.images.bytes.begin()));
  EXPECT_TRUE(std::equal(few.labels.bytes.begin(), few.labels.bytes.end(), many.labels.bytes.begin()));
  EXPECT_NE(generate_digits(15, 4, DigitSplit::kTrain).images.bytes, few.images.bytes);
  EXPECT_NE(generate_digits(15, 3, DigitSplit::kValid).images.bytes, few.images.bytes);
}

// Results are compared between machines, so the images themselves are part of the promise.
TEST(GenerateDigits, DrawsTheSameImagesEverywhere) {
  const LabelledImages digits = generate_digits(1000, 1, DigitSplit::kTrain);
  expect_golden(Sha256().update(digits.images.bytes).update(digits.labels.bytes).hex());
}

TEST(GenerateDigits, HoldsEachDigitOnceInEveryTen) {
  const LabelledImages digits = generate_digits(100, 5, DigitSplit::kValid);
  const auto labels = digits.labels.values<uint8_t>();
  std::set<std::vector<uint8_t>> orders;
  for (size_t block = 0; block < 100; block += 10) {
    std::vector<uint8_t> ten(labels.begin() + static_cast<std::ptrdiff_t>(block),
                             labels.begin() + static_cast<std::ptrdiff_t>(block) + 10);
    orders.insert(ten);
    std::ranges::sort(ten);
    EXPECT_THAT(ten, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }
  EXPECT_EQ(orders.size(), 10u);
}

TEST(GenerateDigits, UsesTheWholeRangeOfBrightness) {
  const LabelledImages digits = generate_digits(100, 1, DigitSplit::kTrain);
  const auto pixels = digits.images.values<uint8_t>();
  EXPECT_EQ(*std::ranges::min_element(pixels), 0);
  EXPECT_EQ(*std::ranges::max_element(pixels), 255);
}

TEST(DigitStrokes, StayInTheirBox) {
  for (int64_t digit = 0; digit < 10; ++digit) {
    for (int64_t form = 0; form < num_digit_forms(digit); ++form) {
      for (const Stroke& stroke : digit_strokes(digit, form)) {
        EXPECT_GE(stroke.size(), 2u);
        for (const Point& point : stroke) {
          EXPECT_TRUE(point.x > 0 && point.x < 1 && point.y > 0 && point.y < 1)
              << digit << ": " << point.x << ", " << point.y;
        }
      }
    }
  }
}

// A softmax regression on pixels, trained by plain gradient descent one image at a time.
class LinearClassifier {
 public:
  void train(const LabelledImages& digits, int num_epochs) {
    const auto labels = digits.labels.values<uint8_t>();
    for (int epoch = 0; epoch < num_epochs; ++epoch)
      for (size_t i = 0; i < labels.size(); ++i) step(image(digits, i), labels[i]);
  }

  double accuracy(const LabelledImages& digits) const {
    const auto labels = digits.labels.values<uint8_t>();
    size_t num_right = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto scores = scores_of(image(digits, i));
      num_right += std::ranges::max_element(scores) - scores.begin() == labels[i] ? 1 : 0;
    }
    return static_cast<double>(num_right) / static_cast<double>(labels.size());
  }

 private:
  using Scores = std::array<float, kNumDigits>;

  static std::span<const uint8_t> image(const LabelledImages& digits, size_t i) {
    return digits.images.values<uint8_t>().subspan(i * kNumPixels, kNumPixels);
  }

  Scores scores_of(std::span<const uint8_t> pixels) const {
    Scores scores = bias_;
    for (size_t p = 0; p < kNumPixels; ++p)
      for (size_t d = 0; d < kNumDigits; ++d) scores[d] += weights_[p][d] * static_cast<float>(pixels[p]) / 255;
    return scores;
  }

  void step(std::span<const uint8_t> pixels, uint8_t label) {
    constexpr float kLearningRate = 0.01F;
    Scores gradient = scores_of(pixels);
    const float largest = *std::ranges::max_element(gradient);
    float sum = 0;
    for (float& score : gradient) sum += score = std::exp(score - largest);
    for (size_t d = 0; d < kNumDigits; ++d) gradient[d] = gradient[d] / sum - (d == label ? 1.0F : 0.0F);
    for (size_t d = 0; d < kNumDigits; ++d) bias_[d] -= kLearningRate * gradient[d];
    for (size_t p = 0; p < kNumPixels; ++p)
      for (size_t d = 0; d < kNumDigits; ++d)
        weights_[p][d] -= kLearningRate * gradient[d] * static_cast<float>(pixels[p]) / 255;
  }

  std::vector<Scores> weights_ = std::vector<Scores>(kNumPixels);
  Scores bias_{};
};

TEST(GenerateDigits, CanBeLearntButNotByALinearModel) {
  LinearClassifier classifier;
  classifier.train(generate_digits(5000, 1, DigitSplit::kTrain), 4);
  const double accuracy = classifier.accuracy(generate_digits(1000, 1, DigitSplit::kValid));
  EXPECT_GT(accuracy, 0.30);
  EXPECT_LT(accuracy, 0.95);
}

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
              ::testing::ElementsAre(0, 0, 1, 1, 2, 3, 3));
  const std::vector<int64_t> classes = classes_of_scores(normals(50'000, 2), 5);
  for (int64_t c = 0; c < 5; ++c) EXPECT_NEAR(static_cast<double>(std::ranges::count(classes, c)), 10'000, 500);
}

TEST(RandomStream, IsAPureFunctionOfKeyAndIndex) {
  const RandomStream stream{1, 2};
  const uint64_t later = stream.bits(1000);
  EXPECT_EQ(RandomStream({1, 2}).bits(1000), later);
  EXPECT_NE(RandomStream({2, 1}).bits(1000), later);
  EXPECT_NE(RandomStream({1, 2, 0}).bits(1000), later);
}

TEST(RandomStream, DoesNotRepeatItself) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomStream stream{seed};
    for (uint64_t index = 0; index < 1000; ++index) seen.insert(stream.bits(index));
  }
  EXPECT_EQ(seen.size(), 100'000u);
}

TEST(RandomStream, DrawsUniformlyWithinItsBounds) {
  RandomStream stream{3};
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = stream.next_uniform(-1, 3);
    ASSERT_TRUE(value >= -1 && value < 3);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 1, 0.02);  // five standard errors
}

TEST(RandomStream, DrawsEveryWholeNumberEquallyOften) {
  RandomStream stream{4};
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts.at(static_cast<size_t>(stream.next_below(7)));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

// Moments of the normal distribution, each within five standard errors.
TEST(RandomStream, DrawsNormalNumbers) {
  const RandomStream stream{5};
  constexpr int kNumPairs = 500'000;
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  double products = 0;
  double beyond_two = 0;
  for (uint64_t pair = 0; pair < kNumPairs; ++pair) {
    const auto [a, b] = stream.normal_pair(pair);
    products += a * b;
    for (const double x : {a, b}) {
      sum += x;
      squares += x * x;
      fourths += x * x * x * x;
      beyond_two += std::abs(x) > 2 ? 1 : 0;
    }
  }
  constexpr double kCount = 2 * kNumPairs;
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2 / kCount));
  EXPECT_NEAR(fourths / kCount, 3, 5 * std::sqrt(96 / kCount));
  EXPECT_NEAR(products / kNumPairs, 0, 5 / std::sqrt(kNumPairs));
  EXPECT_NEAR(beyond_two / kCount, 0.0455, 5 * std::sqrt(0.0455 / kCount));
}

// The values are part of the promise: the same bits on every machine.
TEST(RandomStream, DrawsTheSameNumbersEverywhere) {
  const auto [a, b] = RandomStream({1}).normal_pair(0);
  EXPECT_EQ(RandomStream({1}).bits(0), uint64_t{12793040940332582595U});
  EXPECT_EQ(a, 0x1.af2b6430775e4p-1);
  EXPECT_EQ(b, -0x1.3532b0c698c1dp-3);
}

TEST(CosSin, AgreesWithTheLibrary) {
  for (double turns = -3; turns < 3; turns += 0.00137) {
    EXPECT_NEAR(cos_sin(turns).cos, std::cos(2 * std::numbers::pi * turns), 1e-10) << turns;
    EXPECT_NEAR(cos_sin(turns).sin, std::sin(2 * std::numbers::pi * turns), 1e-10) << turns;
  }
}

}  // namespace
}  // namespace rnnlab
