// SPDX-License-Identifier: Apache-2.0
#include "data/step_reader.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(RowEnds, AreAtTheEndOfALineUnlessACellInQuotesGoesOn) {
  RowEnds ends(';');
  for (const char* line : {"", "a;b", "\"a\";\"b;c\"\r", "\xef\xbb\xbf\"a\"", "\"\";\"a \"\"b\"\"\""})
    EXPECT_TRUE(ends.ends_with(line)) << line;
  EXPECT_FALSE(ends.ends_with("a;\"b"));
  EXPECT_FALSE(ends.ends_with("still \"\"within\"\" quotes;"));
  EXPECT_TRUE(ends.ends_with("\";c"));
  EXPECT_FALSE(ends.ends_with("\xef\xbb\xbf\"a")) << "a byte order mark is before the first cell";
  EXPECT_TRUE(ends.ends_with("\""));
}

TEST(RowEnds, AreAtTheEndOfALineWithAMisplacedQuote) {
  RowEnds ends(',');
  for (const char* line : {"5,6\"", "5\",\"6", "\"5\"6,\"", " \"5", "\"a\"\"\"b,\""}) EXPECT_TRUE(ends.ends_with(line));
}

}  // namespace
}  // namespace rnnlab
