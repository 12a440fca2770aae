#include "data/readers/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/readers/reader_files.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;
using testing::IsNan;

Table column_of(const std::string& cells) { return parse_csv("x,other\n" + cells, "x.csv"); }

class NumericColumnTest : public ReaderFiles {
 protected:
  std::string error_in(const std::string& cells, MissingPolicy policy = MissingPolicy::kDrop) const {
    return error_of([&] { numeric_column(column_of(cells), "x", policy); });
  }
};

TEST_F(NumericColumnTest, ReadsNumbers) {
  const NumericColumn column =
      numeric_column(column_of("1,a\n -2.5e3 ,b\n+.5,c\n\"7\",d\n"), "x", MissingPolicy::kError);
  EXPECT_EQ(column.name, "x");
  EXPECT_THAT(column.values, ElementsAre(1, -2500, .5, 7));
  EXPECT_EQ(column.num_missing, 0);
}

TEST_F(NumericColumnTest, NamesACellThatIsNoNumber) {
  EXPECT_EQ(error_in("1,\nabc,\n"), "x.csv:3: column 'x': got 'abc', expected a number");
  EXPECT_EQ(error_in("\"1\n2\",\n"), "x.csv:2: column 'x': got '1\\x0a2', expected a number");
  EXPECT_EQ(error_in("\"1,5\",\n"),
            "x.csv:2: column 'x': got '1,5', expected a number with a decimal point, not a comma");
  EXPECT_EQ(error_in("0x10,\n"), "x.csv:2: column 'x': got '0x10', expected a number");
}

TEST_F(NumericColumnTest, NamesTheLineOfACellBehindLineBreaks) {
  const Table table = parse_csv("note,x\n\"two\nlines\",bad\n", "x.csv");
  EXPECT_EQ(error_of([&] { numeric_column(table, "x", MissingPolicy::kDrop); }),
            "x.csv:3: column 'x': got 'bad', expected a number");
}

TEST_F(NumericColumnTest, RefusesWhatIsNotFinite) {
  for (const char* text : {"inf", "-Inf", "Infinity", "+infinity"})
    EXPECT_EQ(error_in(std::string(text) + ",\n"),
              fmt::format("x.csv:2: column 'x': got '{}', expected a finite number", text));
  EXPECT_EQ(error_in("1e999,\n"), "x.csv:2: column 'x': got '1e999', expected a number");
}

TEST_F(NumericColumnTest, RefusesMissingValuesWhenAsked) {
  EXPECT_EQ(error_in("1,\n,2\n", MissingPolicy::kError),
            "x.csv:3: column 'x': the cell is empty, expected a number: "
            "fill it, or set data.missing to previous, mean, zero or drop");
  EXPECT_EQ(error_in("?,\n", MissingPolicy::kError),
            "x.csv:2: column 'x': the value is missing ('?'), expected a number: "
            "fill it, or set data.missing to previous, mean, zero or drop");
}

TEST_F(NumericColumnTest, KnowsTheTokensOfMissingValues) {
  const Table table = column_of("1,\n,\nNA,\nna,\nNaN,\nnan,\nNULL,\nnull,\n?,\n\"\",\n  ,\n");
  const NumericColumn column = numeric_column(table, "x", MissingPolicy::kDrop);
  EXPECT_EQ(column.num_missing, 10);
  EXPECT_EQ(column.values[0], 1);
  EXPECT_THAT(std::span(column.values).subspan(1), testing::Each(IsNan()));
}

TEST_F(NumericColumnTest, FillsByPolicy) {
  const Table table = column_of("1,\nNA,\n,\n4,\nNA,\n");
  EXPECT_THAT(numeric_column(table, "x", MissingPolicy::kPrevious).values, ElementsAre(1, 1, 1, 4, 4));
  EXPECT_THAT(numeric_column(table, "x", MissingPolicy::kMean).values, ElementsAre(1, 2.5, 2.5, 4, 2.5));
  EXPECT_THAT(numeric_column(table, "x", MissingPolicy::kZero).values, ElementsAre(1, 0, 0, 4, 0));
  EXPECT_EQ(numeric_column(table, "x", MissingPolicy::kZero).num_missing, 3);
}

TEST_F(NumericColumnTest, TakesTheMeanOfTheTrainingRowsOnly) {
  const std::vector<int64_t> training_rows = {0, 1, 2};
  const Table table = column_of("1,\n2,\nNA,\n100,\n");
  EXPECT_THAT(numeric_column(table, "x", MissingPolicy::kMean, training_rows).values, ElementsAre(1, 2, 1.5, 100));
}

TEST_F(NumericColumnTest, TakesTheMeanOfHugeNumbers) {
  EXPECT_THAT(numeric_column(column_of("1.5e308,\n1.5e308,\nNA,\n"), "x", MissingPolicy::kMean).values[2], 1.5e308);
}

TEST_F(NumericColumnTest, SaysWhatAPolicyCannotFill) {
  EXPECT_EQ(error_in(",\n1,\n", MissingPolicy::kPrevious),
            "x.csv:2: column 'x': the cell is empty, expected a number: the first row has no previous row to copy the "
            "value from");
  EXPECT_EQ(error_in("NA,\nNA,\n", MissingPolicy::kMean),
            "x.csv:2: column 'x': the value is missing ('NA'), expected a number: the column has no values to compute "
            "a mean from");
}

TEST_F(NumericColumnTest, RefusesAnUnknownColumn) {
  EXPECT_EQ(error_of([] { numeric_column(column_of("1,2\n"), "otter", MissingPolicy::kZero); }),
            "x.csv: no column is called 'otter' (did you mean 'other'?); the columns are 'x', 'other'");
}

TEST(CompleteRows, AreThoseWithoutAGap) {
  const std::vector<NumericColumn> columns = {{"a", {1, NAN, 3, 4}, 1}, {"b", {1, 2, 3, NAN}, 1}};
  EXPECT_THAT(complete_rows(columns), ElementsAre(0, 2));
  EXPECT_THAT(complete_rows({}), ElementsAre());
}

class ClassColumnTest : public ReaderFiles {};

TEST_F(ClassColumnTest, SortsTextByItsBytes) {
  const ClassColumn column = class_column(column_of("setosa,\nvirginica,\n setosa ,\nNew,\n"), "x");
  EXPECT_THAT(column.labels, ElementsAre("New", "setosa", "virginica"));
  EXPECT_THAT(column.classes, ElementsAre(1, 2, 1, 0));
}

TEST_F(ClassColumnTest, SortsIntegersByValue) {
  const ClassColumn column = class_column(column_of("10,\n9,\n-1,\n+9,\n"), "x");
  EXPECT_THAT(column.labels, ElementsAre("-1", "9", "10"));
  EXPECT_THAT(column.classes, ElementsAre(2, 1, 0, 1));
}

TEST_F(ClassColumnTest, TakesOneWordAmongIntegersAsText) {
  EXPECT_THAT(class_column(column_of("10,\n9,\nnone,\n"), "x").labels, ElementsAre("10", "9", "none"));
}

TEST_F(ClassColumnTest, RefusesAMissingLabel) {
  EXPECT_EQ(error_of([] { class_column(column_of("a,\n,\n"), "x"); }),
            "x.csv:3: column 'x': the cell is empty, expected a class label: fill it or remove the row");
}

TEST_F(ClassColumnTest, FindsTheClassesOfAnotherPart) {
  const std::vector<std::string> labels = {"3", "cat", "dog"};
  EXPECT_THAT(class_column_as(column_of("dog,\n+3,\n"), "x", labels), ElementsAre(2, 0));
  EXPECT_EQ(error_of([&] { class_column_as(column_of("cat,\ndig,\n"), "x", labels); }),
            "x.csv:3: column 'x': got the class 'dig', which the training data does not have (did you mean 'dog'?)");
}

TEST_F(ClassColumnTest, LeavesAMissingLabelUnknownWhereNobodyNeedsIt) {
  EXPECT_THAT(class_column_as(column_of("dog,\n?,\n,a\n"), "x", {"cat", "dog"}, MissingLabels::kUnknown),
              ElementsAre(1, -1, -1));
}

}  // namespace
}  // namespace rnnlab
