#include "system/table.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(Table, AlignsWordsLeftAndNumbersRight) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  table.add_column("s", Align::kRight);
  table.add_column("note", Align::kLeft);
  table.add_row({"cpu naive", "12.5", ""});
  table.add_row({"\u00e9t\u00e9", "3", "\u00b1 1"});
  EXPECT_EQ(table.text(),
            "run           s  note\n"
            "---------  ----  ----\n"
            "cpu naive  12.5\n"
            "\u00e9t\u00e9           3  \u00b1 1\n");
}

TEST(Table, ShowsACellOnOneLine) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  table.add_column("s", Align::kRight);
  table.add_row({"a\nb\x1b", "1"});
  EXPECT_EQ(table.text(),
            "run         s\n"
            "----------  -\n"
            "a\\x0ab\\x1b  1\n");
  EXPECT_EQ(table.rows().front().front(), "a\nb\x1b");
}

TEST(Table, OfNoRowsIsItsHeadings) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  EXPECT_EQ(table.text(), "run\n---\n");
}

}  // namespace
}  // namespace rnnlab
