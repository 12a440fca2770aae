// SPDX-License-Identifier: Apache-2.0
#include "results/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

struct Speed {
  double value = 0;
  std::optional<double> low = std::nullopt;

  RNNLAB_FIELDS(value, low)
};

struct Row {
  std::string name;
  int64_t count = 0;
  std::optional<Speed> speed = std::nullopt;

  RNNLAB_FIELDS(name, count, speed)
};

const std::vector<Row> kRows = {{"a", 1, Speed{0.5, 0.25}}, {"b", 1, std::nullopt}};

TEST(Table, HasAColumnForEachMemberOrFunction) {
  const ColumnList<Row> columns = {{"name", &Row::name, Align::kLeft},
                                   {"twice", [](const Row& row) { return 2 * row.count; }}};
  const TextTable table = table_of(columns, kRows);
  EXPECT_THAT(table.rows(), ElementsAre(ElementsAre("a", "2"), ElementsAre("b", "2")));
  EXPECT_EQ(table.columns()[0].align, Align::kLeft);
  EXPECT_EQ(table.columns()[1].align, Align::kRight);
}

TEST(Table, LeavesOutItsColumnsInTheirOrder) {
  const auto cell = [](const Row&) { return "0123456789"; };
  const ColumnList<Row> columns = {{"kept", cell}, {"last", cell, Align::kRight, 2}, {"first", cell, Align::kRight, 1}};
  EXPECT_THAT(fitted_table(columns, kRows, 22).left_out, ElementsAre("first"));
  EXPECT_THAT(fitted_table(columns, kRows, 5).left_out, ElementsAre("last", "first"));
}

TEST(Table, HasFieldsOfARecordAsCsv) {
  ColumnList<Row> columns;
  add_fields(columns, {"name", "count"});
  add_fields(columns, keys_of_fields<Speed>(), &Row::speed, "speed_");
  EXPECT_EQ(csv_of(columns, kRows), "name,count,speed_value,speed_low\na,1,0.5,0.25\nb,1,,\n");
}

TEST(Table, HasNoColumnOfAFieldThatIsNotThere) {
  ColumnList<Row> columns;
  add_fields(columns, {"nam"});
  EXPECT_THROW(csv_of(columns, kRows), InvariantError);
}

TEST(Table, KnowsWhatAllRowsShare) {
  EXPECT_TRUE(is_equal_in_all(Column<Row>("count", &Row::count), kRows));
  EXPECT_FALSE(is_equal_in_all(Column<Row>("name", &Row::name), kRows));
  EXPECT_FALSE(is_equal_in_all(Column<Row>("count", &Row::count), std::vector<Row>()));
}

TEST(CellText, IsForPrograms) {
  EXPECT_EQ(cell_text(true), "1");
  EXPECT_EQ(cell_text(0.1), "0.1");
  EXPECT_EQ(cell_text(std::optional<double>()), "");
  EXPECT_EQ(cell_text(std::vector<std::string>{"a", "b"}), "a; b");
  EXPECT_EQ(cell_text(std::vector<int64_t>{1, 2}), "1 2");
}

}  // namespace
}  // namespace rnnlab
