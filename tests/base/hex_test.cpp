#include "base/hex.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(Hex, BytesGoToDigitsAndBack) {
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{0x1F}, std::byte{0xFF}};
  EXPECT_EQ(to_hex(bytes), "001fff");
  EXPECT_EQ(from_hex("001fff"), bytes);
  EXPECT_EQ(from_hex("001FFF"), bytes);
  EXPECT_EQ(from_hex(""), std::vector<std::byte>());
}

TEST(Hex, WhatIsNoHexadecimalIsNothing) {
  for (const char* digits : {"0", "0g", "g0", " 1", "-1", "0x", "00 "}) EXPECT_FALSE(from_hex(digits)) << digits;
}

}  // namespace
}  // namespace rnnlab
