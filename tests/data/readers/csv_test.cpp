// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "data/readers/reader_files.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

class CsvTest : public ReaderFiles {
 protected:
  std::string error_in(const std::string& text, const CsvOptions& options = {}) const {
    return error_of([&] { parse_csv(text, "x.csv", options); });
  }
};

constexpr CsvOptions kNoHeader{',', CsvHeader::kAbsent};

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const CsvTable& table) {
  Rows rows;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    rows.emplace_back();
    for (int64_t column = 0; column < table.num_columns(); ++column) rows.back().emplace_back(table.cell(row, column));
  }
  return rows;
}

Rows parse(const std::string& text, const CsvOptions& options = {}) {
  return rows_of(parse_csv(text, "x.csv", options));
}

TEST_F(CsvTest, IsTheSameInAnyNumberOfPieces) {
  constexpr int64_t kMostOfText = 7;
  const std::string text = "a,b\n1,2\r\n\r\n3,4\n\n,\n5,\r7,8\n9,\u20ac";
  for (const char* end : {"", "\n1\n2\n", "\n1,2,3\n1\n", "\n\"a\nb\",2\n", "\n1,\xFF\n\xFF"})
    for (int64_t num_pieces = 2; num_pieces <= kMostOfText; ++num_pieces) {
      const auto rows_or_error = [&](int64_t pieces) {
        Rows rows;
        const std::string error =
            error_of([&] { rows = rows_of(parse_csv_in_pieces(text + end, "x.csv", {}, pieces)); });
        return std::pair(rows, error);
      };
      EXPECT_EQ(rows_or_error(num_pieces), rows_or_error(1)) << end << num_pieces;
    }
}

TEST_F(CsvTest, ReadsAFile) {
  const CsvTable table = read_csv(write("x.csv", "a,b\n1,2\n3,4\n"));
  EXPECT_THAT(table.column_names(), ElementsAre("a", "b"));
  EXPECT_EQ(rows_of(table), (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(table.column_index("b"), 1);
}

TEST_F(CsvTest, TakesEveryLineEnd) {
  const Rows wanted = {{"1", "2"}, {"3", "4"}};
  for (const char* text :
       {"a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\r1,2\r3,4\r", "\n\na,b\n\n1,2\r\n\r\n3,4\n\n"})
    EXPECT_EQ(parse(text), wanted) << text;
}

TEST_F(CsvTest, TakesQuotes) {
  EXPECT_EQ(parse("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"two\r\nlines\",\"\"\n"),
            (Rows{{"x,y", "say \"hi\""}, {"two\r\nlines", ""}}));
}

TEST_F(CsvTest, KeepsEmptyCellsAndSpaces) {
  EXPECT_EQ(parse("a,b,c\n,,\n 1 ,,3"), (Rows{{"", "", ""}, {" 1 ", "", "3"}}));
}

TEST_F(CsvTest, SkipsAByteOrderMark) {
  EXPECT_THAT(parse_csv("\xEF\xBB\xBFid\n1\n", "x.csv").column_names(), ElementsAre("id"));
  EXPECT_THAT(parse_csv("\xEF\xBB\xBF\"id\"\n1\n", "x.csv").column_names(), ElementsAre("id"));
}

TEST_F(CsvTest, TakesAnotherDelimiter) {
  EXPECT_EQ(parse("a;b\n1,5;2\n", {';', CsvHeader::kPresent}), (Rows{{"1,5", "2"}}));
  EXPECT_EQ(parse("a\tb\n1\t\n", {'\t', CsvHeader::kPresent}), (Rows{{"1", ""}}));
}

TEST_F(CsvTest, NumbersTheColumnsWithoutAHeader) {
  const CsvTable table = parse_csv("1,2\n3,4\n", "x.csv", kNoHeader);
  EXPECT_THAT(table.column_names(), ElementsAre("column1", "column2"));
  EXPECT_EQ(table.num_rows(), 2);
}

TEST_F(CsvTest, TrimsAndCompletesNames) {
  EXPECT_THAT(parse_csv(", b ,\"c\"\n1,2,3\n", "x.csv").column_names(), ElementsAre("column1", "b", "c"));
}

TEST_F(CsvTest, KnowsTheLineOfEveryCell) {
  const CsvTable table = parse_csv("a,b,c\n\"1\n\n\",\"2\r\n\",3\n\n4,5,6\n", "x.csv");
  EXPECT_EQ(table.line(0, 0), 2);
  EXPECT_EQ(table.line(0, 1), 4);
  EXPECT_EQ(table.line(0, 2), 5);
  EXPECT_EQ(table.line(1, 2), 7);
}

TEST_F(CsvTest, RefusesABlankLineThatMayBeAMissingValue) {
  expect_golden(error_in("a\n1\n\n3\n"));
  EXPECT_EQ(parse("\n\na\n\n1\n\"2\n\"\n3\n\n\n"), (Rows{{"1"}, {"2\n"}, {"3"}}));
}

TEST_F(CsvTest, ReadsGzip) { EXPECT_EQ(read_csv(write("x.csv.gz", gzip("a\n1\n"))).num_rows(), 1); }

TEST_F(CsvTest, NamesTheLineOfAFault) {
  const std::vector<std::string> texts = {"a,b\n",
                                          "\n\n",
                                          "a,b\n1,\"\n\"\n1,2,3\n",
                                          "a;b\n1,5;2,5\n",
                                          "a,b\n1,2\n3,\"4\n5,6\n",
                                          "a\n\"",
                                          "a,b\n\"1\"x,2\n",
                                          "a\n\"\n\"\u00e9",
                                          "size\n5\" wide\n",
                                          bytes("a\r1\r\n\r2\0\n"),
                                          "a,b\r1,2\r\r\n3\n",
                                          bytes("a\n1\0\n"),
                                          "name\n\nJos\xe9\n",
                                          "\na,b, a\n1,2,3\n",
                                          "column2,\n1,2\n",
                                          std::string(100'000, ',') + "\n"};
  for (const std::string& text : texts) expect_golden(error_in(text));
  for (const char* text : {"", "\n1,2\n3\n"}) expect_golden(error_in(text, kNoHeader));
  write("x.csv", "");
  expect_golden(error_of([&] { read_csv(path("x.csv")); }));
}

TEST_F(CsvTest, NamesTheColumnsWhenOneIsMissing) {
  const CsvTable table = parse_csv("price,volume\n1,2\n", "x.csv");
  expect_golden(error_of([&] { table.column_index("pirce"); }));
  std::string header = "c0";
  std::string row = "0";
  for (int i = 1; i < 12; ++i) {
    header += fmt::format(",c{}", i);
    row += ",0";
  }
  expect_golden(error_of([&] { parse_csv(header + "\n" + row, "x.csv").column_index("target"); }));
}

TEST_F(CsvTest, GuessesAtAnotherDelimiter) {
  expect_golden(error_of([&] { parse_csv("price;volume\n1;2\n", "x.csv").column_index("price"); }));
  expect_golden(error_of([&] { parse_csv("a\tb\n1\t2\n", "x.csv").column_index("a"); }));
}

// A text of this size is read by several threads. Its row i is "i,i/8", and a blank line follows each fourth row.
class LargeCsvTest : public CsvTest {
 protected:
  static constexpr int64_t kNumRows = 200'000;

  static int64_t line_of_row(int64_t row) { return 2 + row + row / 4; }

  static std::string rows_with_ends(const std::string& line_end) {
    std::string text;
    for (int64_t row = 0; row < kNumRows; ++row) {
      text += fmt::format("{},{}{}", row, static_cast<double>(row) / 8, line_end);
      if (row % 4 == 3) text += line_end;
    }
    return text;
  }

  static void expect_rows(const CsvTable& table, int64_t first_line = 1) {
    ASSERT_EQ(table.num_rows(), kNumRows);
    int64_t num_wrong = 0;
    for (int64_t row = 0; row < kNumRows; ++row)
      num_wrong += table.cell(row, 0) != std::to_string(row) || table.line(row, 1) != line_of_row(row) + first_line - 1;
    EXPECT_EQ(num_wrong, 0);
    const std::vector<double> halves = numeric_column(table, table.column_names()[1], MissingPolicy::kError).values;
    for (int64_t row = 0; row < kNumRows; ++row)
      num_wrong += halves[static_cast<size_t>(row)] != static_cast<double>(row) / 8;
    EXPECT_EQ(num_wrong, 0);
  }

  const std::string text_ = "a,b\n" + rows_with_ends("\n");
  const std::string next_line_ = std::to_string(line_of_row(kNumRows));
};

TEST_F(LargeCsvTest, IsReadWithEveryLineEnd) {
  for (const char* line_end : {"\n", "\r\n", "\r"})
    expect_rows(parse_csv(std::string("a,b") + line_end + rows_with_ends(line_end), "x.csv"));
}

TEST_F(LargeCsvTest, IsReadFromAFile) {
  expect_rows(read_csv(write("x.csv", text_)));
  expect_rows(read_csv(write("x.csv.gz", gzip(text_))));
}

TEST_F(LargeCsvTest, MayHaveNoHeader) { expect_rows(parse_csv(rows_with_ends("\n"), "x.csv", kNoHeader), 0); }

TEST_F(LargeCsvTest, MayHaveQuotesInItsHeader) {
  const std::string rows = rows_with_ends("\n");
  expect_rows(parse_csv("\xEF\xBB\xBF\"a \"\"x\"\"\",\"b\"\n" + rows, "x.csv"));
  expect_rows(parse_csv("\"a\n\nx\",b\n" + rows, "x.csv"), 3);
  expect_golden(error_in("a,\"b\n" + rows));
}

TEST_F(LargeCsvTest, MayHaveQuotesThatSpanThreads) {
  const std::string quoted = "0,\"" + text_ + "\"\n";
  const CsvTable table = parse_csv("a,b\n" + quoted + "1,2\n", "x.csv");
  EXPECT_TRUE(table.cell(0, 1) == text_);
  EXPECT_EQ(table.cell(1, 1), "2");
  EXPECT_EQ(table.line(1, 0), line_of_row(kNumRows) + 2);
}

TEST_F(LargeCsvTest, MayHaveQuotesOnlyInItsLastRow) {
  const CsvTable table = parse_csv(text_ + "\"x,y\",1", "x.csv");
  EXPECT_EQ(table.cell(kNumRows - 1, 0), "199999");
  EXPECT_EQ(table.cell(kNumRows, 0), "x,y");
  EXPECT_EQ(table.line(kNumRows, 0), line_of_row(kNumRows));
}

TEST_F(LargeCsvTest, NamesTheLineOfAFaultInItsLastRow) {
  expect_golden(error_in(text_ + "1,2,3"));
  expect_golden(error_in(text_ + "1,\"2"));
  expect_golden(error_in(text_ + bytes("\0")));
  expect_golden(error_in(text_ + "1,\u20ac\xE2\x82"));
}

TEST_F(LargeCsvTest, NamesTheFirstOfSeveralFaults) {
  EXPECT_EQ(error_in("a,b\n1\n" + rows_with_ends("\n") + "1,2,3\n").substr(0, 8), "x.csv:2:");
  EXPECT_EQ(error_in("a,b\n\xE9\n" + rows_with_ends("\n") + bytes("\0")).substr(0, 7 + next_line_.size()),
            fmt::format("x.csv:{}:", line_of_row(kNumRows) + 1))
      << "UTF-16 is the more likely fault";
}

TEST_F(LargeCsvTest, CountsMissingValuesOfAllThreads) {
  const CsvTable table = parse_csv("a,b\nNA,\n" + rows_with_ends("\n") + ",\n", "x.csv");
  const std::vector<NumericColumn> columns = numeric_columns(table, table.column_names(), MissingPolicy::kDrop);
  EXPECT_EQ(columns[0].num_missing, 2);
  EXPECT_EQ(columns[1].num_missing, 2);
  EXPECT_EQ(std::ssize(complete_rows(columns)), kNumRows);
}

TEST_F(LargeCsvTest, NamesTheFirstCellThatIsNotANumber) {
  const CsvTable table = parse_csv("a,b\n1,x\n" + rows_with_ends("\n") + "y,1\n", "x.csv");
  expect_golden(error_of([&] { numeric_columns(table, table.column_names(), MissingPolicy::kDrop); }));
}

CsvTable column_of(const std::string& cells) { return parse_csv("x,other\n" + cells, "x.csv"); }

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

TEST_F(NumericColumnTest, NamesACellThatIsNoFiniteNumber) {
  for (const char* cells : {"1,\nabc,\n", "\"1\n2\",\n", "\"1,5\",\n", "0x10,\n", "inf,\n", "-Inf,\n", "Infinity,\n",
                            "+infinity,\n", "1e999,\n"})
    expect_golden(error_in(cells));
  for (const char* cells : {"1,\n,2\n", "?,\n"}) expect_golden(error_in(cells, MissingPolicy::kError));
  expect_golden(error_of([] { numeric_column(column_of("1,2\n"), "otter", MissingPolicy::kZero); }));
  expect_golden(error_of([] { class_column(column_of("a,\n,\n"), "x"); }));
}

TEST_F(NumericColumnTest, TakesADecimalCommaIfItIsRequested) {
  const CsvOptions options = {.delimiter = ';', .decimal = ','};
  const CsvTable table = parse_csv("x;y\n1,5;1\n-2;1.5\n1,5e3;1\n", "x.csv", options);
  EXPECT_THAT(numeric_column(table, "x", MissingPolicy::kError).values, ElementsAre(1.5, -2, 1500));
  expect_golden(error_of([&] { numeric_column(table, "y", MissingPolicy::kError); }));
}

TEST_F(NumericColumnTest, NamesTheLineOfACellBehindLineBreaks) {
  const CsvTable table = parse_csv("note,x\n\"two\nlines\",bad\n", "x.csv");
  expect_golden(error_of([&] { numeric_column(table, "x", MissingPolicy::kDrop); }));
}

TEST_F(NumericColumnTest, KnowsTheTokensOfMissingValues) {
  const CsvTable table = column_of("1,\n,\nNA,\nna,\nNaN,\nnan,\nNULL,\nnull,\n?,\n\"\",\n  ,\n");
  const NumericColumn column = numeric_column(table, "x", MissingPolicy::kDrop);
  EXPECT_EQ(column.num_missing, 10);
  EXPECT_EQ(column.values[0], 1);
  EXPECT_THAT(std::span(column.values).subspan(1), ::testing::Each(IsNan()));
}

TEST_F(NumericColumnTest, LeavesMissingValuesToTheCaller) {
  const CsvTable table = column_of("1,\nNA,\n,\n4,\n");
  for (const MissingPolicy policy :
       {MissingPolicy::kDrop, MissingPolicy::kPrevious, MissingPolicy::kMean, MissingPolicy::kZero})
    EXPECT_THAT(numeric_column(table, "x", policy).values, ElementsAre(1, IsNan(), IsNan(), 4));
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
  EXPECT_THAT(class_column(column_of("10,\n9,\nmany,\n"), "x").labels, ElementsAre("10", "9", "many"));
}

TEST_F(ClassColumnTest, FindsTheClassesOfAnotherPart) {
  const std::vector<std::string> labels = {"3", "cat", "dog"};
  EXPECT_THAT(class_column_as(column_of("dog,\n+3,\n"), "x", labels), ElementsAre(2, 0));
  expect_golden(error_of([&] { class_column_as(column_of("cat,\ndig,\n"), "x", labels); }));
}

TEST_F(ClassColumnTest, LeavesAMissingLabelUnknownWhereNobodyNeedsIt) {
  EXPECT_THAT(class_column_as(column_of("dog,\n?,\n,a\n"), "x", {"cat", "dog"}, MissingTargets::kAllowed),
              ElementsAre(1, -1, -1));
}

}  // namespace
}  // namespace rnnlab
