// SPDX-License-Identifier: Apache-2.0
#include "base/numbers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace rnnlab {
namespace {

TEST(ParseInt64, RefusesNumbersOutsideOfLimits) {
  EXPECT_EQ(parse_int64("1", 1, 3), 1);
  EXPECT_EQ(parse_int64("3", 1, 3), 3);
  for (const char* text : {"0", "4", "-2", "9223372036854775808", "two"}) EXPECT_FALSE(parse_int64(text, 1, 3)) << text;
}

TEST(ParseInt64, ReadsDecimalIntegersOnly) {
  EXPECT_EQ(parse_int64("42"), 42);
  EXPECT_EQ(parse_int64("-7"), -7);
  EXPECT_EQ(parse_int64("+3"), 3);
  EXPECT_EQ(parse_int64("0"), 0);
  EXPECT_EQ(parse_int64("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const char* text :
       {"", "+", "-", "+-1", "010", "0x10", "1e3", "1.0", " 1", "1 ", "1_000", "9223372036854775808"})
    EXPECT_FALSE(parse_int64(text)) << text;
}

TEST(ParseDouble, ReadsFiniteDecimalsOnly) {
  EXPECT_EQ(parse_double("1e3"), 1000.0);
  EXPECT_EQ(parse_double("-.5"), -0.5);
  EXPECT_EQ(parse_double("+2"), 2.0);
  for (const char* text : {"", ".", "nan", "inf", "-inf", ".nan", ".inf", "1e999", "1,5", "0x1p3", "1.0f"})
    EXPECT_FALSE(parse_double(text)) << text;
}

// Short numbers without an exponent have code of their own.
TEST(ParseDouble, ReturnsTheNearestNumber) {
  for (const char* text : {"0",
                           "7",
                           "007",
                           "1.",
                           ".5",
                           "0.1",
                           "-0.1",
                           "2.675",
                           "123456.789012",
                           "-0.000001",
                           "0.30000000000000004",
                           "999999999999999",
                           "9999999999999999",
                           ".000000000000001",
                           "-.0000000000000001",
                           "0.000000000000000000000001",
                           "9007199254740993",
                           "12345678901234567890123",
                           "0000000000000000000000001.5",
                           "1.0000000000000000000000000"})
    EXPECT_EQ(parse_double(text), std::strtod(text, nullptr)) << text;
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const double value = static_cast<double>(static_cast<int64_t>(random())) / std::pow(10, random() % 25);
    const std::string text = fmt::format("{:.{}f}", value, random() % 12);
    EXPECT_EQ(parse_double(text), std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(ParseDouble, KeepsTheSignOfZero) {
  EXPECT_TRUE(std::signbit(parse_double("-0.0").value()));
  EXPECT_FALSE(std::signbit(parse_double("0.0").value()));
}

TEST(ParseDouble, RefusesWhatOnlyLooksLikeAShortNumber) {
  for (const char* text : {"-", "-.", "--1", "+-1", "1-", "1..2", "1.2.3", "1.2-3", "1 ", " 1", "1:0", "1/0", "1.5x"})
    EXPECT_FALSE(parse_double(text)) << text;
}

TEST(ParseDoubleOrNan, ReturnsTheNumbersOfParseDouble) {
  EXPECT_EQ(parse_double_or_nan("-2.5"), -2.5);
  EXPECT_EQ(parse_double_or_nan("+1e3"), 1000.0);
  for (const char* text : {"", "nan", "inf", "1e999", "1,5"})
    EXPECT_TRUE(std::isnan(parse_double_or_nan(text))) << text;
}

TEST(FormatShortest, ReadsBackToTheSameValue) {
  EXPECT_EQ(format_shortest(0.1), "0.1");
  EXPECT_EQ(format_shortest(0.001), "0.001");
  for (const double value : {1.0 / 3.0, 1e-300, 123456789.123456789})
    EXPECT_EQ(parse_double(format_shortest(value)), value);
}

TEST(FormatBytes, ScalesToTheUnitThatFits) {
  EXPECT_EQ(format_bytes(312), "312 B");
  EXPECT_EQ(format_bytes(1610612736), "1.50 GiB");
  EXPECT_EQ(format_bytes(1048575), "1.00 MiB") << "not 1024.00 KiB";
}

TEST(FormatSeconds, ScalesToTheUnitThatFits) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(1.234), "1.23 s");
  EXPECT_EQ(format_seconds(0.0456), "45.6 ms");
  EXPECT_EQ(format_seconds(7.89e-6), "7.89 us");
  EXPECT_EQ(format_seconds(0.99996), "1 s") << "not 1e+03 ms";
  EXPECT_EQ(format_seconds(0.00099996), "1 ms");
  EXPECT_EQ(format_seconds(999.9), "1000 s");
  EXPECT_EQ(format_seconds(12345.6), "12346 s");
}

TEST(FormatDuration, HasMinutesOnceThereIsOne) {
  EXPECT_EQ(format_duration(0.0456), "45.6 ms");
  EXPECT_EQ(format_duration(59.4), "59.4 s");
  EXPECT_EQ(format_duration(60), "1 min 0 s");
  EXPECT_EQ(format_duration(119.7), "2 min 0 s");
  EXPECT_EQ(format_duration(3599.4), "59 min 59 s");
  EXPECT_EQ(format_duration(7500), "2 h 5 min");
}

TEST(FormatCount, PutsCommasBetweenThousands) {
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(123), "123");
}

TEST(Counted, PutsTheNounInThePlural) {
  EXPECT_EQ(counted(1, "token"), "1 token");
  EXPECT_EQ(counted(0, "token"), "0 tokens");
  EXPECT_EQ(counted(1234, "token"), "1,234 tokens");
  EXPECT_EQ(counted(1, "class"), "1 class");
  EXPECT_EQ(counted(2, "class"), "2 classes");
  EXPECT_EQ(counted(4, "series"), "4 series");
}

TEST(FormatWithin, TurnsToPowersOfTenIfTheNumberIsTooLong) {
  EXPECT_EQ(format_within(10, "{:.4f}", 0.5), "0.5000");
  EXPECT_EQ(format_within(10, "{:.4f}", 99999.9999), "99999.9999");
  EXPECT_EQ(format_within(10, "{:.4f}", 100000), "1.000e+05");
  EXPECT_EQ(format_within(10, "{:.4f}", -1.234e30), "-1.234e+30");
  EXPECT_EQ(format_within(10, "{:.4f}", std::numeric_limits<double>::infinity()), "inf");
}

TEST(FormatSignificant, HasNoPowersOfTen) {
  EXPECT_EQ(format_significant(0.00012345, 3), "0.000123");
  EXPECT_EQ(format_significant(1.5, 3), "1.50");
  EXPECT_EQ(format_significant(10446.5, 3), "10446");
  EXPECT_EQ(format_significant(0, 3), "0.00");
  EXPECT_EQ(format_significant(-std::numeric_limits<double>::quiet_NaN(), 3), "nan");
}

TEST(DecimalsFor, KnowsWhatRoundingCarries) {
  EXPECT_EQ(decimals_for(9.994, 3), 2);
  EXPECT_EQ(decimals_for(9.996, 3), 1) << "10.0";
  EXPECT_EQ(decimals_for(12345, 3), 0);
}

TEST(CheckedMultiply, NoticesOverflow) {
  EXPECT_EQ(checked_multiply(1 << 20, 1 << 20), int64_t{1} << 40);
  EXPECT_FALSE(checked_multiply(int64_t{1} << 40, int64_t{1} << 40));
}

TEST(Saturating, StopsAtTheLargestNumber) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(saturating_add(1, 2), 3);
  EXPECT_EQ(saturating_add(kMost, 1), kMost);
  EXPECT_EQ(saturating_multiply(3, 4), 12);
  EXPECT_EQ(saturating_multiply(int64_t{1} << 40, int64_t{1} << 40), kMost);
}

TEST(Nan, HasNoSign) {
  EXPECT_EQ(format_shortest(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(format_within(8, "{:.4f}", -std::numeric_limits<double>::quiet_NaN()), "nan");
}

}  // namespace
}  // namespace rnnlab
