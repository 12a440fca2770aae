// SPDX-License-Identifier: Apache-2.0
// The pieces of a CSV text that threads examine and parse at the same time. A piece ends after a line break or at the
// end of the text, so it holds whole characters and, if the text has no quotes, whole rows. The caller parses a text
// with quotes, names the columns, and writes messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rnnlab {

struct CsvPiece {
  size_t begin = 0, end = 0;       // in the text
  std::optional<size_t> nul;       // place in the text of the piece's first NUL
  std::optional<size_t> not_utf8;  // place in the text of the piece's first byte that is not UTF-8
  bool has_quote = false;
  size_t num_rows = 0;  // lines that are not blank
  uint32_t num_line_breaks = 0;
};

// Cuts the text and examines the pieces. The first piece ends with the first line that is not blank. The text after it
// is cut into at most `num_pieces` pieces of about the same size, none of which is empty.
std::vector<CsvPiece> examine_csv(std::string_view text, int64_t num_pieces);

// The memory to which parse_piece writes the places of the cells and rows in the text.
struct CsvPlaces {
  uint32_t* cell_ends;   // at most most_cells() entries
  uint32_t* row_begins;  // num_rows entries
  uint32_t* row_lines;   // num_rows entries
};

// Returns the most cells that parse_piece writes for this piece.
size_t most_cells(const CsvPiece& piece, size_t num_columns);

struct WrongRow {
  uint32_t line;
  size_t num_cells;
};

// Parses a piece without quotes, which begins on the line `first_line` of the text. Stops at the first row that does
// not have `num_columns` cells, and returns it.
std::optional<WrongRow> parse_piece(std::string_view text, const CsvPiece& piece, char delimiter, size_t num_columns,
                                    uint32_t first_line, CsvPlaces places);

}  // namespace rnnlab
