// SPDX-License-Identifier: Apache-2.0
#include "data/readers/spellings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

TEST(Spellings, OfANumberAreOneValue) {
  for (const char* cell : {"6", "6.0", "+6", "6.", "6e0", "60e-1", "0.6e1", " 6 "})
    EXPECT_EQ(simplest_spelling(cell, {}), "6") << cell;
  EXPECT_EQ(simplest_spelling("-5.0", {}), "-5");
  EXPECT_EQ(simplest_spelling("-0", {}), "0");
  EXPECT_EQ(simplest_spelling("12e2", {}), "1200");
  EXPECT_EQ(simplest_spelling("6,0", {.decimal = ','}), "6");
  EXPECT_EQ(simplest_spelling("TRUE", {}), "true");
}

// A number with leading zeros is usually a code, and a long one loses digits as a double.
TEST(Spellings, OfOtherTextsAreDifferent) {
  for (const char* cell : {"06", "6a", "six", "1e", "e5", "-", "+", "1e9999", "Rome", "1.10", "1.1", "-0.50", "5e-1"})
    EXPECT_EQ(simplest_spelling(cell, {}), cell);
  EXPECT_NE(simplest_spelling("12345678901234567890", {}), simplest_spelling("12345678901234567891", {}));
}

TEST(Spellings, StayWhereAValueHasOnlyOne) {
  EXPECT_THAT(distinct_values(std::vector<std::string_view>{"6.0", "7.0", "6.0"}, {}), ElementsAre("6.0", "7.0"));
  EXPECT_THAT(distinct_values(std::vector<std::string_view>{"6.0", "6", "7.0"}, {}), ElementsAre("6", "7.0"));
}

TEST(Spellings, ThatAreMergedAreNoted) {
  const auto note = [](const std::vector<std::string_view>& cells) { return note_on_spellings(cells, "k", {}); };
  expect_golden(note({"1e3", "1000", "7"}));
  expect_golden(note({"6", "6.0", "True", "TRUE"}));
  EXPECT_EQ(note({"1.1", "1.10", "06", "6"}), "");
}

TEST(ValueIndex, DoesNotMixNumbersThatAreNotWhole) {
  const std::vector<std::string> values = {"1.1", "2.50"};
  const ValueIndex index(values, {});
  EXPECT_EQ(index.find("1.1"), 0);
  EXPECT_EQ(index.find("1.10"), -1);
  EXPECT_EQ(index.find("2.5"), -1);
}

TEST(ValueIndex, FindsOtherSpellings) {
  const std::vector<std::string> values = {"6", "07", "True", "red"};
  const ValueIndex index(values, {});
  EXPECT_EQ(index.find("6.0"), 0);
  EXPECT_EQ(index.find("06"), 0) << "the only value with this number";
  EXPECT_EQ(index.find("7"), 1);
  EXPECT_EQ(index.find("TRUE"), 2);
  EXPECT_EQ(index.find("Red"), -1);
  EXPECT_EQ(index.find("8"), -1);
}

TEST(ValueIndex, PrefersTheSameCharactersAndTakesNoneOfSeveral) {
  const std::vector<std::string> values = {"6", "6.0", "06"};
  const ValueIndex index(values, {});
  EXPECT_EQ(index.find("6"), 0);
  EXPECT_EQ(index.find("6.0"), 1);
  EXPECT_EQ(index.find("06"), 2);
  EXPECT_EQ(index.find("+6"), -1);
}

}  // namespace
}  // namespace rnnlab
