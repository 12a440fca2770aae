#include "data/readers/generated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/sha256.h"

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
  EXPECT_EQ(Sha256().update(digits.images.bytes).update(digits.labels.bytes).hex(),
            "9d391dd54ab5f930e142a46ed2ad4ece5aadb41a670dc781e4c0ec7fce3854db");
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
    EXPECT_THAT(ten, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
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

}  // namespace
}  // namespace rnnlab
