// SPDX-License-Identifier: Apache-2.0
#include "data/readers/row_numbers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

// A table whose first column has this name, and these integers.
bool is_index(const std::string& name, const std::vector<int64_t>& integers) {
  std::string text = name + ",x\n";
  for (const int64_t number : integers) text += fmt::format("{},5\n", number);
  return numbers_rows(parse_csv(text, "a.csv"), 0);
}

std::vector<int64_t> counted_up(int64_t first, int64_t count) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(first + i);
  return numbers;
}

TEST(RowNumbers, AreTheIndexOfADataFrame) {
  for (const char* name : {"", "Unnamed: 0", "__index_level_0__", "level_0", "index", "ID"}) {
    EXPECT_TRUE(is_index(name, counted_up(0, 5))) << name;
    EXPECT_TRUE(is_index(name, {3, 0, 2, 1})) << name << ": shuffled rows";
  }
  EXPECT_TRUE(is_index("", {17, 3, 90})) << "a part of the rows of a larger table";
  EXPECT_FALSE(is_index("id", {7, 7, 8, 8}));
  EXPECT_FALSE(is_index("", {1, 1, 2}));
}

TEST(RowNumbers, HaveAnyNameOverManyRows) {
  EXPECT_TRUE(is_index("length", counted_up(0, 20)));
  EXPECT_TRUE(is_index("length", counted_up(1, 30)));
  EXPECT_FALSE(is_index("length", counted_up(0, 19))) << "a few rows show little";
  EXPECT_FALSE(is_index("length", counted_up(7, 30)));
}

TEST(RowNumbers, AreNotInAColumnThatEndsLines) {
  const CsvTable table = parse_csv("x,y,\n1,2,\n3,4,\n", "a.csv");
  EXPECT_TRUE(is_after_last_delimiter(table, 2));
  EXPECT_FALSE(is_after_last_delimiter(table, 1));
  const CsvTable of_rows = parse_csv("x,y\n1,2,\n3,4,\n", "a.csv");
  EXPECT_EQ(of_rows.num_columns(), 3);
  EXPECT_TRUE(is_after_last_delimiter(of_rows, 2));
  EXPECT_EQ(of_rows.cell(1, 1), "4");
}

}  // namespace
}  // namespace rnnlab
