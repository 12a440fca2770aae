// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int64_t kMostPieces = 9;
constexpr const char* kTexts[] = {
    "",
    "\n",
    "\r\n\r\r\n",
    "a,b",
    "a,b\n",
    "a,b\n1,2\n3,4\n5,6\n7,8",
    "a,b\r\n1,2\r\n3,4\r\n\r\n\r\n5,6\r\n",
    "a,b\r1,2\r3,4\r5,6\r",
    "\n\na,b\n\n1,2\r\n\r\n3,4\n\r\r\n5,6\r7,8\n\n",
    "\xEF\xBB\xBF\n\xEF\xBB\xBF"
    "a,b\n1,2\n",
    ",\n,\n,\n,\n,\n,\n",
    "a,b\nshort,a longer cell\n12345678,12345678\n,1234567\n123456789,\n\u00e4\u00f6\u00fc,\u20ac\n",
};

std::string_view view_of(std::string_view text, const CsvPiece& piece) {
  return text.substr(piece.begin, piece.end - piece.begin);
}

// Returns the number of lines that are not blank, and the number of line breaks.
std::pair<size_t, uint32_t> count_lines(std::string_view text) {
  size_t num_rows = 0;
  uint32_t num_line_breaks = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    num_rows += end > at ? 1 : 0;
    num_line_breaks += end < text.size() ? 1 : 0;
    at = end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
  }
  return {num_rows, num_line_breaks};
}

TEST(CsvPieces, MeetAtLineBreaks) {
  for (const std::string_view text : kTexts)
    for (int64_t num_pieces = 1; num_pieces <= kMostPieces; ++num_pieces) {
      const std::vector<CsvPiece> pieces = examine_csv(text, num_pieces);
      EXPECT_LE(std::ssize(pieces), 1 + num_pieces) << text;
      EXPECT_EQ(pieces.front().begin, 0U);
      EXPECT_EQ(pieces.back().end, text.size());
      for (size_t i = 1; i < pieces.size(); ++i) {
        EXPECT_EQ(pieces[i].begin, pieces[i - 1].end) << text;
        EXPECT_LT(pieces[i].begin, pieces[i].end) << text;
        EXPECT_TRUE(text[pieces[i].begin - 1] == '\n' || (i == 1 && text[pieces[i].begin - 1] == '\r')) << text;
      }
    }
}

TEST(CsvPieces, BeginWithTheFirstLineThatIsNotBlank) {
  const auto first_of = [](std::string_view text) { return view_of(text, examine_csv(text, 1).front()); };
  EXPECT_EQ(first_of("\n\r\na,b\r\n1,2\n"), "\n\r\na,b\r\n");
  EXPECT_EQ(first_of("a,b\r1,2\r"), "a,b\r");
  EXPECT_EQ(first_of("\xEF\xBB\xBF\na\n1\n"), "\xEF\xBB\xBF\na\n");
  EXPECT_EQ(first_of("\n\n"), "\n\n");
}

TEST(CsvPieces, CountRowsAndLineBreaks) {
  for (const std::string_view text : kTexts)
    for (int64_t num_pieces = 1; num_pieces <= kMostPieces; ++num_pieces)
      for (const CsvPiece& piece : examine_csv(text, num_pieces)) {
        if (piece.begin == 0) continue;  // its lines are not counted after a byte order mark
        EXPECT_THAT(count_lines(view_of(text, piece)), Pair(piece.num_rows, piece.num_line_breaks)) << text;
      }
}

TEST(CsvPieces, CountMoreThanAByteHolds) {
  std::string text = "a\n";
  for (int i = 0; i < 1000; ++i) text += "1\n";
  text += std::string(1000, '\n') + std::string(1000, '\r');
  const std::vector<CsvPiece> pieces = examine_csv(text, 1);
  EXPECT_EQ(pieces[1].num_rows, 1000U);
  EXPECT_EQ(pieces[1].num_line_breaks, 3000U);
}

TEST(CsvPieces, FindNulQuotesAndBytesThatAreNotUtf8) {
  for (const size_t place : {2U, 3U, 300U, 598U, 601U}) {
    std::string text = "a\n" + std::string(600, 'x');
    const auto piece_with = [&](char c) {
      text[place] = c;
      return examine_csv(text, 1)[1];
    };
    EXPECT_EQ(piece_with('\0').nul, place);
    EXPECT_TRUE(piece_with('"').has_quote);
    EXPECT_EQ(piece_with('\xE9').not_utf8, place);
    const CsvPiece valid = piece_with('y');
    EXPECT_FALSE(valid.nul || valid.has_quote || valid.not_utf8);
  }
}

TEST(CsvPieces, FindACharacterThatALineBreakCuts) {
  const std::string text = "a\n1\n\xC3\n\xA9\n";
  for (int64_t num_pieces = 1; num_pieces <= kMostPieces; ++num_pieces) {
    std::optional<size_t> first;
    for (const CsvPiece& piece : examine_csv(text, num_pieces))
      if (!first) first = piece.not_utf8;
    EXPECT_EQ(first, 4U) << num_pieces;
  }
}

using Row = std::vector<std::string>;
using LineAndRow = std::pair<uint32_t, Row>;

// Parses all pieces after the first one, and returns the rows with their lines.
std::vector<LineAndRow> parse_pieces(std::string_view text, int64_t num_pieces, size_t num_columns,
                                     uint32_t first_line) {
  std::vector<LineAndRow> rows;
  const std::vector<CsvPiece> pieces = examine_csv(text, num_pieces);
  for (const CsvPiece& piece : std::span(pieces).subspan(1)) {
    std::vector<uint32_t> ends(most_cells(piece, num_columns)), begins(piece.num_rows), lines(piece.num_rows);
    const auto wrong = parse_piece(text, piece, ',', num_columns, first_line,
                                   {.cell_ends = ends.data(), .row_begins = begins.data(), .row_lines = lines.data()});
    EXPECT_FALSE(wrong) << text;
    for (size_t row = 0; row < piece.num_rows; ++row) {
      Row& cells = rows.emplace_back(lines[row], Row()).second;
      size_t begin = begins[row];
      for (size_t i = row * num_columns; i < (row + 1) * num_columns; ++i) {
        cells.emplace_back(text.substr(begin, ends[i] - begin));
        begin = ends[i] + 1;
      }
    }
    first_line += piece.num_line_breaks;
  }
  return rows;
}

TEST(CsvPieces, AreParsedAlikeWhereverTheyMeet) {
  const std::string text = "a,b\n1,2\r\n\r\n3,4\n\n,\n5,\r7,8\n9,\u20ac";
  for (int64_t num_pieces = 1; num_pieces <= kMostPieces; ++num_pieces)
    EXPECT_THAT(parse_pieces(text, num_pieces, 2, 2),
                ElementsAre(LineAndRow{2, {"1", "2"}}, LineAndRow{4, {"3", "4"}}, LineAndRow{6, {"", ""}},
                            LineAndRow{7, {"5", ""}}, LineAndRow{8, {"7", "8"}}, LineAndRow{9, {"9", "\u20ac"}}))
        << num_pieces;
}

TEST(CsvPieces, HaveCellsOfEveryLength) {
  constexpr size_t kMostBytes = 20;
  for (size_t first = 0; first < kMostBytes; ++first)
    for (size_t second = 0; second < kMostBytes; ++second) {
      const Row row = {std::string(first, '+'), std::string(second, '-')};  // the neighbours of a comma
      const std::string line = row[0] + "," + row[1];
      EXPECT_THAT(parse_pieces("a,b\n" + line + "\r\n" + line, 1, 2, 2), ElementsAre(Pair(2, row), Pair(3, row)));
    }
}

TEST(CsvPieces, MayHaveAnyDelimiterOfAscii) {
  constexpr std::string_view kOthers = "\"\r\n";
  for (char delimiter = 0; delimiter < 0x7F; ++delimiter) {
    if (kOthers.find(delimiter) != std::string_view::npos) continue;
    const std::string cell(9, static_cast<char>(delimiter + 1) > '\r' ? static_cast<char>(delimiter + 1) : '1');
    const std::string text = "header\n" + cell + delimiter + cell;
    std::vector<uint32_t> ends(3), begins(1), lines(1);
    EXPECT_FALSE(parse_piece(text, examine_csv(text, 1)[1], delimiter, 2, 2,
                             {.cell_ends = ends.data(), .row_begins = begins.data(), .row_lines = lines.data()}));
    EXPECT_THAT(ends, ElementsAre(16, 26, 0)) << static_cast<int>(delimiter);
  }
}

std::optional<WrongRow> first_wrong_row(std::string_view text, size_t num_columns) {
  const CsvPiece piece = examine_csv(text, 1)[1];
  std::vector<uint32_t> ends(most_cells(piece, num_columns)), begins(piece.num_rows), lines(piece.num_rows);
  return parse_piece(text, piece, ',', num_columns, 2,
                     {.cell_ends = ends.data(), .row_begins = begins.data(), .row_lines = lines.data()});
}

TEST(CsvPieces, StopAtARowOfAnotherLength) {
  const auto expect_wrong = [](std::string_view text, uint32_t line, size_t num_cells) {
    const auto wrong = first_wrong_row(text, 3);
    ASSERT_TRUE(wrong) << text;
    EXPECT_EQ(wrong->line, line) << text;
    EXPECT_EQ(wrong->num_cells, num_cells) << text;
  };
  expect_wrong("a,b,c\n1,2,3\n\n1,2\n1\n", 4, 2);
  expect_wrong("a,b,c\n,,,,,,,,", 2, 9);
  expect_wrong("a,b,c\n1\n2\n3\n4", 2, 1);
}

// A file from a stranger may promise many columns, and then have many short rows.
TEST(CsvPieces, NeedNoMoreCellsThanBytes) {
  const CsvPiece piece = examine_csv("a\n1\n2\n3\n4", 1)[1];
  EXPECT_EQ(most_cells(piece, 1), 4U);
  EXPECT_EQ(most_cells(piece, 2), 8U) << "the last row may lack its line break";
  EXPECT_EQ(most_cells(piece, 100'000), 8U);
}

}  // namespace
}  // namespace rnnlab
