// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv_pieces.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "data/readers/row_threads.h"

namespace rnnlab {
namespace {

static_assert(std::endian::native == std::endian::little, "CellEnds takes the lowest byte for the first one");

size_t after_line_break(std::string_view text, size_t at) { return at + (text.substr(at).starts_with("\r\n") ? 2 : 1); }

// Returns the end of the first row that is not blank, with its line break.
size_t end_of_first_row(std::string_view text) {
  const size_t mark = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const size_t row = std::min(text.find_first_not_of("\r\n", mark), text.size());
  const size_t line_break = text.find_first_of("\r\n", row);
  return line_break == std::string_view::npos ? text.size() : after_line_break(text, line_break);
}

std::vector<CsvPiece> cut_into_pieces(std::string_view text, size_t num_pieces) {
  std::vector<CsvPiece> pieces(1);
  pieces[0].end = end_of_first_row(text);
  const size_t least_bytes = (text.size() - pieces[0].end) / num_pieces + 1;
  while (pieces.back().end < text.size()) {
    const size_t begin = pieces.back().end, line_break = text.find('\n', begin + least_bytes - 1);
    CsvPiece& piece = pieces.emplace_back();
    piece.begin = begin;
    piece.end = line_break == std::string_view::npos ? text.size() : line_break + 1;
  }
  return pieces;
}

struct Found {
  bool nul = false, quote = false, beyond_ascii = false;
};

// Looks at `count` bytes, at most 255, whose neighbours can be read too. The counts fit into a byte, so that the
// compiler looks at 16 bytes at once.
void examine_inner(const char* bytes, size_t count, Found& found, CsvPiece& piece) {
  uint8_t nul = 0, quote = 0, high = 0, num_rows = 0, num_line_breaks = 0;
  for (size_t i = 0; i < count; ++i) {
    const char c = bytes[i], previous = bytes[static_cast<ptrdiff_t>(i) - 1], next = bytes[i + 1];
    const bool lf = c == '\n', cr = c == '\r', is_text = c != '\n' && c != '\r';
    nul |= static_cast<uint8_t>(c == '\0');
    quote |= static_cast<uint8_t>(c == '"');
    high |= static_cast<uint8_t>(c);
    num_line_breaks += static_cast<uint8_t>(lf | (cr & (next != '\n')));
    num_rows += static_cast<uint8_t>(is_text & ((previous == '\n') | (previous == '\r')));
  }
  found.nul |= nul != 0;
  found.quote |= quote != 0;
  found.beyond_ascii |= high >= 0x80;
  piece.num_rows += num_rows;
  piece.num_line_breaks += num_line_breaks;
}

// Looks at the first or the last byte of a piece, which may lack a neighbour.
void examine_edge(std::string_view text, size_t at, Found& found, CsvPiece& piece) {
  const char around[3] = {at == piece.begin ? '\n' : text[at - 1], text[at], at + 1 < piece.end ? text[at + 1] : ' '};
  examine_inner(around + 1, 1, found, piece);
}

void examine(std::string_view text, CsvPiece& piece) {
  if (piece.begin == piece.end) return;
  constexpr size_t kMostAtOnce = 240;
  Found found;
  examine_edge(text, piece.begin, found, piece);
  for (size_t at = piece.begin + 1; at + 1 < piece.end; at += kMostAtOnce)
    examine_inner(text.data() + at, std::min(kMostAtOnce, piece.end - 1 - at), found, piece);
  if (piece.end - piece.begin > 1) examine_edge(text, piece.end - 1, found, piece);
  piece.has_quote = found.quote;
  if (found.nul) piece.nul = text.find('\0', piece.begin);
  if (!found.beyond_ascii) return;
  const auto invalid = first_invalid_utf8(text.substr(piece.begin, piece.end - piece.begin));
  if (invalid) piece.not_utf8 = piece.begin + *invalid;
}

// Finds the delimiters and line breaks of a piece, eight bytes at once.
class CellEnds {
 public:
  CellEnds(std::string_view text, const CsvPiece& piece, char delimiter)
      : bytes_(text.data()), next_word_(piece.begin), end_(piece.end), delimiters_(repeated(delimiter)) {}

  // Returns the next place, or the end of the piece.
  size_t next() {
    while (ends_ == 0) {
      if (next_word_ >= end_) return end_;
      read_word();
    }
    const size_t at = next_word_ - sizeof(uint64_t) + static_cast<size_t>(std::countr_zero(ends_)) / 8;
    ends_ &= ends_ - 1;
    return at;
  }

 private:
  static constexpr uint64_t repeated(char c) { return 0x0101010101010101U * static_cast<unsigned char>(c); }

  // Sets the highest bit of every byte that is not zero. The other bits have no meaning.
  static uint64_t not_zero(uint64_t word) { return ((word & 0x7F7F7F7F7F7F7F7FU) + 0x7F7F7F7F7F7F7F7FU) | word; }

  void read_word() {
    uint64_t word = repeated('"');  // ends no cell, whatever the delimiter is
    if (const size_t num_bytes = end_ - next_word_; num_bytes >= sizeof(word))
      std::memcpy(&word, bytes_ + next_word_, sizeof(word));
    else
      std::memcpy(&word, bytes_ + next_word_, num_bytes);
    ends_ = ~(not_zero(word ^ delimiters_) & not_zero(word ^ repeated('\n')) & not_zero(word ^ repeated('\r'))) &
            repeated('\x80');
    next_word_ += sizeof(word);
  }

  const char* bytes_;
  size_t next_word_, end_;
  uint64_t delimiters_;
  uint64_t ends_ = 0;  // the highest bit of each byte of the word that ends a cell
};

}  // namespace

std::vector<CsvPiece> examine_csv(std::string_view text, int64_t num_pieces) {
  std::vector<CsvPiece> pieces = cut_into_pieces(text, static_cast<size_t>(num_pieces));
  in_threads(std::ssize(pieces), [&](int64_t i) { examine(text, pieces[static_cast<size_t>(i)]); });
  return pieces;
}

// A row of the right length has at least one byte for each cell: a delimiter or a line break. The last row may lack it.
size_t most_cells(const CsvPiece& piece, size_t num_columns) {
  const size_t num_bytes = piece.end - piece.begin + 1;
  return piece.num_rows > num_bytes / num_columns ? num_bytes : piece.num_rows * num_columns;
}

std::optional<WrongRow> parse_piece(std::string_view text, const CsvPiece& piece, char delimiter, size_t num_columns,
                                    uint32_t first_line, CsvPlaces places) {
  CellEnds ends(text, piece, delimiter);
  uint32_t line = first_line;
  size_t row_begin = piece.begin, num_cells = 0;
  while (true) {
    const size_t at = ends.next();
    const bool is_delimiter = at < piece.end && text[at] == delimiter;
    if (is_delimiter || num_cells > 0 || at > row_begin) {  // otherwise the line is blank
      if (num_cells < num_columns) places.cell_ends[num_cells] = static_cast<uint32_t>(at);
      ++num_cells;
    }
    if (is_delimiter) continue;
    if (num_cells > 0) {
      if (num_cells != num_columns) return WrongRow{line, num_cells};
      *places.row_begins++ = static_cast<uint32_t>(row_begin);
      *places.row_lines++ = line;
      places.cell_ends += num_columns;
      num_cells = 0;
    }
    if (at == piece.end) return std::nullopt;
    const bool ends_crlf = text[at] == '\n' && at > 0 && text[at - 1] == '\r';
    if (!ends_crlf) ++line;
    row_begin = at + 1;
  }
}

}  // namespace rnnlab
