#include "data/readers/generated.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>
#include <vector>

namespace rnnlab {
namespace {

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
