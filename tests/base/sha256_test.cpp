// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <gtest/gtest.h>

#include "golden.h"

namespace rnnlab {
namespace {

// The examples of FIPS 180-2, appendix B.
TEST(Sha256, DigestsThePublishedExamples) {
  expect_golden(Sha256().hex());
  expect_golden(Sha256().update("abc").hex());
  EXPECT_EQ(Sha256().update("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, TakesBytesInPieces) {
  Sha256 pieces;
  pieces.update("a");
  EXPECT_EQ(pieces.hex(), Sha256().update("a").hex());
  pieces.update("").update("bc");
  EXPECT_EQ(pieces.hex(), Sha256().update("abc").hex());
}

TEST(Hex, BytesGoToDigitsAndBack) {
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{0x1F}, std::byte{0xFF}};
  EXPECT_EQ(to_hex(bytes), "001fff");
  EXPECT_EQ(from_hex("001fff"), bytes);
  EXPECT_EQ(from_hex("001FFF"), bytes);
  EXPECT_EQ(from_hex(""), std::vector<std::byte>());
}

TEST(Hex, RefusesOtherCharacters) {
  for (const char* digits : {"0", "0g", "g0", " 1", "-1", "0x", "00 "}) EXPECT_FALSE(from_hex(digits)) << digits;
}

}  // namespace
}  // namespace rnnlab
