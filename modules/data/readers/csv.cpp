// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/byte_stream.h"
#include "data/readers/row_threads.h"

namespace rnnlab {
namespace {

constexpr int64_t kLargestFile = std::numeric_limits<uint32_t>::max();
constexpr int64_t kMostColumns = 100'000;

void require_text(std::string_view text, const std::string& name) {
  const auto line_of = [&](size_t at) { return 1 + std::ranges::count(text.substr(0, at), '\n'); };
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    throw_error(ExitCode::kData, "{}:{}: byte {} is NUL, expected text: save the file as UTF-8 (it may be UTF-16)",
                name, line_of(nul), nul);
  if (const auto bad = first_invalid_utf8(text))
    throw_error(ExitCode::kData, "{}:{}: byte {}: got {}, expected UTF-8: convert the file (iconv -t UTF-8)", name,
                line_of(*bad), *bad, in_quotes(text.substr(*bad, 1)));
}

int64_t count_line_breaks(std::string_view text) {
  int64_t count = std::ranges::count(text, '\n');
  for (size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1))
    if (at + 1 == text.size() || text[at + 1] != '\n') ++count;
  return count;
}

// Returns the first names, for a message.
std::string list_names(std::span<const std::string> names) {
  constexpr size_t kMostShown = 10;
  std::vector<std::string> shown;
  for (const std::string& name : names.first(std::min(names.size(), kMostShown))) shown.push_back(in_quotes(name));
  const std::string more = names.size() > kMostShown ? fmt::format(" and {} more", names.size() - kMostShown) : "";
  return join(shown, ", ") + more;
}

// Proposes a delimiter for a table that has only one column.
std::string delimiter_hint(const std::vector<std::string>& names, char delimiter) {
  if (names.size() != 1) return "";
  for (const char other : std::string_view(",;\t|"))
    if (other != delimiter && names[0].find(other) != std::string::npos)
      return fmt::format("; is the delimiter {}?", other == '\t' ? "a tab" : in_quotes(std::string_view(&other, 1)));
  return "";
}

}  // namespace

// Parses the text in one pass and moves the cells, without quotes and delimiters, to its front. They never need more
// space than the text that was read.
class CsvParser {
 public:
  CsvParser(std::string text, const std::string& name, const CsvOptions& options) {
    table_.path_ = name;
    table_.options_ = options;
    table_.text_ = std::move(text);
  }

  Table parse() {
    require_text(table_.text_, table_.path_);
    if (text().starts_with(kByteOrderMark)) read_ = kByteOrderMark.size();
    table_.cell_ends_.push_back(0);
    parse_header();
    if (has_quotes())
      while (parse_row()) table_.row_lines_.push_back(row_line_);
    else
      parse_pieces();
    if (table_.row_lines_.empty())
      throw_error(ExitCode::kData, "{}: the file holds {}, expected at least one row of data", table_.path_,
                  num_columns_ > 0 ? "only a header" : "no rows");
    finish();
    return std::move(table_);
  }

 private:
  // Rows of the text, which a thread parses. Its cells are moved to its front.
  struct Piece {
    size_t begin = 0, end = 0;        // in the text
    size_t size = 0;                  // of the cells together
    std::vector<uint32_t> cell_ends;  // from `begin`
    std::vector<uint32_t> row_lines;  // from 0
    uint32_t num_lines = 0;           // line breaks before the row that is parsed, and at last of the piece
    size_t wrong_length = 0;          // cells of the first row of a wrong length, which ends the parsing
  };

  std::string_view text() const { return table_.text_; }
  bool has_quotes() const { return text().find('"', read_) != std::string_view::npos; }
  bool at_end() const { return read_ == table_.text_.size(); }
  char peek() const { return table_.text_[read_]; }
  bool at_line_break() const { return !at_end() && (peek() == '\n' || peek() == '\r'); }

  [[noreturn]] void fail(uint32_t line, const std::string& message) const {
    throw_error(ExitCode::kData, "{}:{}: {}", table_.path_, line, message);
  }

  void keep(char c) { table_.text_[write_++] = c; }

  void skip_line_break() {
    read_ += text().substr(read_).starts_with("\r\n") ? 2 : 1;
    ++line_;
  }

  void skip_blank_lines() {
    while (at_line_break()) skip_line_break();
  }

  void end_cell() { table_.cell_ends_.push_back(static_cast<uint32_t>(write_)); }

  // Adds one row to the table; returns false at the end of the file.
  bool parse_row() {
    skip_blank_lines();
    if (at_end()) return false;
    row_line_ = line_;
    const size_t row_begin = read_;
    size_t num_cells = 0;
    do {
      parse_cell();
      ++num_cells;
    } while (skip_delimiter());
    if (at_line_break()) skip_line_break();
    first_row_bytes_ = read_ - row_begin;
    check_length(num_cells);
    return true;
  }

  bool skip_delimiter() {
    if (at_end() || peek() != table_.options_.delimiter) return false;
    ++read_;
    return true;
  }

  void check_length(size_t num_cells) {
    if (num_columns_ == 0) {
      if (std::cmp_greater(num_cells, kMostColumns))
        fail(row_line_, fmt::format("got {}, expected at most {}: check the delimiter",
                                    counted(static_cast<int64_t>(num_cells), "column"), format_count(kMostColumns)));
      num_columns_ = num_cells;
      first_line_ = row_line_;
    }
    if (num_cells == num_columns_) return;
    fail(row_line_,
         fmt::format("got {}, expected {} as on line {}: {}", counted(static_cast<int64_t>(num_cells), "cell"),
                     num_columns_, first_line_, advice_on_length()));
  }

  std::string advice_on_length() const {
    const std::string delimiter = in_quotes(std::string_view(&table_.options_.delimiter, 1));
    if (num_columns_ == 1) return fmt::format("is {} the delimiter? If not, set data.delimiter", delimiter);
    return "correct the row, or put quotes around a cell that holds " + delimiter;
  }

  void parse_cell() {
    if (!at_end() && peek() == '"') {
      parse_quoted();
    } else {
      parse_plain();
    }
    end_cell();
  }

  void parse_plain() {
    const char delimiter = table_.options_.delimiter;
    for (; !at_end(); ++read_) {
      const char c = peek();
      if (c == delimiter || c == '\n' || c == '\r') return;
      if (c == '"')
        fail(line_, "a quote inside a cell without quotes: put the whole cell in quotes and double this one");
      keep(c);
    }
  }

  void parse_quoted() {
    const uint32_t open_line = line_;
    ++read_;
    while (true) {
      if (at_end()) fail(open_line, "a quote is opened here and never closed");
      if (at_line_break()) {
        keep_line_break();
        continue;
      }
      const char c = peek();
      ++read_;
      if (c == '"' && !skip_second_quote()) break;
      keep(c);
    }
    if (at_end() || at_line_break() || peek() == table_.options_.delimiter) return;
    fail(line_, fmt::format("got {} after a closing quote, expected {} or the end of the line",
                            in_quotes(text().substr(read_, utf8_sequence_length(text().substr(read_)))),
                            in_quotes(std::string_view(&table_.options_.delimiter, 1))));
  }

  bool skip_second_quote() {
    if (at_end() || peek() != '"') return false;
    ++read_;
    return true;
  }

  void keep_line_break() {
    const size_t begin = read_;
    skip_line_break();
    for (size_t at = begin; at < read_; ++at) keep(table_.text_[at]);
  }

  // Without quotes, a line break always ends a row, so pieces of the text can be parsed at the same time.
  void parse_pieces() {
    if (num_columns_ == 0 && parse_row()) table_.row_lines_.push_back(row_line_);
    if (num_columns_ == 0) return;  // there is no row
    std::vector<Piece> pieces = cut_into_pieces();
    in_threads(std::ssize(pieces), [&](int64_t i) { parse_piece(pieces[static_cast<size_t>(i)]); });
    reserve_for(pieces);
    for (Piece& piece : pieces) append(std::exchange(piece, {}));  // so that their memory is free again
    read_ = text().size();
  }

  std::vector<Piece> cut_into_pieces() const {
    constexpr int64_t kLeastBytes = 1 << 18;
    const auto num_bytes = static_cast<int64_t>(text().size() - read_);
    const int64_t count = num_reading_threads(num_bytes, kLeastBytes);
    std::vector<Piece> pieces(static_cast<size_t>(count));
    size_t begin = read_;
    for (int64_t i = 0; i < count; ++i) {
      const size_t wanted = std::max(begin, read_ + static_cast<size_t>(num_bytes * (i + 1) / count));
      const size_t line_end = wanted < text().size() ? text().find('\n', wanted) : std::string_view::npos;
      const size_t end = line_end == std::string_view::npos ? text().size() : line_end + 1;
      pieces[static_cast<size_t>(i)].begin = std::exchange(begin, end);
      pieces[static_cast<size_t>(i)].end = end;
    }
    return pieces;
  }

  void parse_piece(Piece& piece) {
    const char* const bytes = table_.text_.data();
    reserve_cells(piece);
    for (size_t at = piece.begin; at < piece.end;) {
      if (bytes[at] == '\n' || bytes[at] == '\r') {
        at = after_line_break(piece, at);
        continue;
      }
      const size_t num_cells = parse_piece_row(piece, at);
      if (num_cells != num_columns_) {
        piece.wrong_length = num_cells;
        return;
      }
      piece.row_lines.push_back(piece.num_lines);
      if (at < piece.end) at = after_line_break(piece, at);
    }
  }

  // Estimated by the bytes of the first row, so that the memory for the ends need not grow.
  void reserve_cells(Piece& piece) const {
    const size_t bytes_of_row = std::max<size_t>(first_row_bytes_, 2 * num_columns_);
    const size_t num_rows = (piece.end - piece.begin) / bytes_of_row + 1;
    piece.cell_ends.reserve(num_rows * num_columns_);
    piece.row_lines.reserve(num_rows);
  }

  void reserve_for(const std::vector<Piece>& pieces) {
    size_t num_cells = table_.cell_ends_.size(), num_rows = table_.row_lines_.size();
    for (const Piece& piece : pieces) {
      num_cells += piece.cell_ends.size();
      num_rows += piece.row_lines.size();
    }
    table_.cell_ends_.reserve(num_cells);
    table_.row_lines_.reserve(num_rows);
  }

  size_t after_line_break(Piece& piece, size_t at) const {
    ++piece.num_lines;
    const bool are_two = table_.text_[at] == '\r' && at + 1 < piece.end && table_.text_[at + 1] == '\n';
    return at + (are_two ? 2 : 1);
  }

  // Returns the number of cells, and moves `at` to the end of the row.
  size_t parse_piece_row(Piece& piece, size_t& at) {
    char* const bytes = table_.text_.data();
    const char delimiter = table_.options_.delimiter;
    for (size_t num_cells = 1;; ++num_cells, ++at) {
      const size_t begin = at;
      while (at < piece.end && bytes[at] != delimiter && bytes[at] != '\n' && bytes[at] != '\r') ++at;
      std::memmove(bytes + piece.begin + piece.size, bytes + begin, at - begin);
      piece.size += at - begin;
      piece.cell_ends.push_back(static_cast<uint32_t>(piece.size));
      if (at == piece.end || bytes[at] != delimiter) return num_cells;
    }
  }

  void append(const Piece& piece) {
    std::memmove(table_.text_.data() + write_, text().data() + piece.begin, piece.size);
    for (const uint32_t end : piece.cell_ends) table_.cell_ends_.push_back(static_cast<uint32_t>(write_) + end);
    for (const uint32_t line : piece.row_lines) table_.row_lines_.push_back(line_ + line);
    write_ += piece.size;
    line_ += piece.num_lines;
    row_line_ = line_;
    if (piece.wrong_length > 0) check_length(piece.wrong_length);
  }

  void parse_header() {
    if (table_.options_.header == CsvHeader::kAbsent || !parse_row()) return;
    name_columns();
    table_.cell_ends_ = {static_cast<uint32_t>(write_)};
  }

  void name_columns() {
    std::unordered_map<std::string, size_t> places;
    for (size_t i = 0; i < num_columns_; ++i) {
      const uint32_t begin = table_.cell_ends_[i];
      std::string name(trim(text().substr(begin, table_.cell_ends_[i + 1] - begin)));
      if (name.empty()) name = fmt::format("column{}", i + 1);
      const auto [first, is_new] = places.emplace(name, i + 1);
      if (!is_new)
        fail(first_line_, fmt::format("the columns {} and {} are both called {}: rename one of them", first->second,
                                      i + 1, in_quotes(name)));
      table_.column_names_.push_back(std::move(name));
    }
  }

  void finish() {
    if (table_.options_.header == CsvHeader::kAbsent)
      for (size_t i = 0; i < num_columns_; ++i) table_.column_names_.push_back(fmt::format("column{}", i + 1));
    table_.text_.resize(write_);
    table_.cell_ends_.shrink_to_fit();
    table_.row_lines_.shrink_to_fit();
  }

  Table table_;
  size_t read_ = 0;
  size_t write_ = 0;
  uint32_t line_ = 1;
  uint32_t row_line_ = 1;
  uint32_t first_line_ = 1;  // line of the row that set the number of columns
  size_t num_columns_ = 0;
  size_t first_row_bytes_ = 0;  // of the row that was parsed last, which is the first before others are estimated by it
};

Table parse_csv(std::string text, const std::string& name, const CsvOptions& options) {
  RNNLAB_INVARIANT(static_cast<int64_t>(text.size()) <= kLargestFile, "a CSV text of 4 GiB");
  RNNLAB_INVARIANT(std::string_view("\"\r\n").find(options.delimiter) == std::string_view::npos,
                   "a delimiter of CSV's own");
  return CsvParser(std::move(text), name, options).parse();
}

Table read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  std::string text = read_whole(path, kLargestFile);
  if (text.empty()) throw_error(ExitCode::kData, "{}: empty file, expected CSV: check the path", path.string());
  return parse_csv(std::move(text), path.string(), options);
}

int64_t Table::column_index(std::string_view name) const {
  const auto found = std::ranges::find(column_names_, name);
  if (found != column_names_.end()) return found - column_names_.begin();
  throw_error(ExitCode::kData, "{}: no column is called {}{}; the columns are {}{}", path_, in_quotes(name),
              did_you_mean(name, column_names_), list_names(column_names_),
              delimiter_hint(column_names_, options_.delimiter));
}

std::string_view Table::cell(int64_t row, int64_t column) const {
  const auto at = static_cast<size_t>(row * num_columns() + column);
  return std::string_view(text_).substr(cell_ends_[at], cell_ends_[at + 1] - cell_ends_[at]);
}

int64_t Table::line(int64_t row, int64_t column) const {
  int64_t line = row_lines_[static_cast<size_t>(row)];
  for (int64_t before = 0; before < column; ++before) line += count_line_breaks(cell(row, before));
  return line;
}

}  // namespace rnnlab
