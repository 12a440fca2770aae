#include "base/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace rnnlab {
namespace {

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

TEST(FormatShortest, ReadsBackToTheSameValue) {
  EXPECT_EQ(format_shortest(0.1), "0.1");
  EXPECT_EQ(format_shortest(0.001), "0.001");
  for (const double value : {1.0 / 3.0, 1e-300, 123456789.123456789})
    EXPECT_EQ(parse_double(format_shortest(value)), value);
}

TEST(Format, ScalesToTheUnitThatFits) {
  EXPECT_EQ(format_bytes(312), "312 B");
  EXPECT_EQ(format_bytes(1610612736), "1.50 GiB");
  EXPECT_EQ(format_seconds(1.234), "1.23 s");
  EXPECT_EQ(format_seconds(0.0456), "45.6 ms");
  EXPECT_EQ(format_seconds(7.89e-6), "7.89 us");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(123), "123");
}

TEST(CheckedMultiply, NoticesOverflow) {
  EXPECT_EQ(checked_multiply(1 << 20, 1 << 20), int64_t{1} << 40);
  EXPECT_FALSE(checked_multiply(int64_t{1} << 40, int64_t{1} << 40));
}

}  // namespace
}  // namespace rnnlab
