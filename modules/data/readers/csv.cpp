// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/csv_pieces.h"
#include "data/readers/row_threads.h"

namespace rnnlab {
namespace {

constexpr int64_t kLargestFile = std::numeric_limits<uint32_t>::max();
constexpr int64_t kMostColumns = 100'000;

int64_t count_line_breaks(std::string_view text) {
  int64_t count = std::ranges::count(text, '\n');
  for (size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1))
    if (at + 1 == text.size() || text[at + 1] != '\n') ++count;
  return count;
}

void require_text(std::string_view text, std::span<const CsvPiece> pieces, const std::string& name) {
  const auto line_of = [&](size_t at) { return 1 + count_line_breaks(text.substr(0, at)); };
  for (const CsvPiece& piece : pieces)
    if (piece.nul)
      throw_error(ExitCode::kData, "{}:{}: byte {} is NUL, expected text: save the file as UTF-8 (it may be UTF-16)",
                  name, line_of(*piece.nul), *piece.nul);
  for (const CsvPiece& piece : pieces)
    if (const auto bad = piece.not_utf8)
      throw_error(ExitCode::kData, "{}:{}: byte {}: got {}, expected UTF-8: convert the file (iconv -t UTF-8)", name,
                  line_of(*bad), *bad, in_quotes(text.substr(*bad, 1)));
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

// A text without quotes is parsed in pieces, and its cells stay where they are. A text with quotes is parsed in one
// pass, which moves the cells without their quotes to its front, with one byte between two cells. They never need more
// space than the text that was read.
class CsvParser {
 public:
  CsvParser(UnfilledVector<char> text, const std::string& name, const CsvOptions& options) {
    RNNLAB_INVARIANT(static_cast<int64_t>(text.size()) <= kLargestFile, "a CSV text of 4 GiB");
    RNNLAB_INVARIANT(std::string_view("\"\r\n").find(options.delimiter) == std::string_view::npos,
                     "a delimiter of CSV's own");
    table_.path_ = name;
    table_.options_ = options;
    table_.text_ = std::move(text);
  }

  CsvTable parse() {
    constexpr int64_t kLeastBytes = 1 << 18;
    return parse(num_reading_threads(std::ssize(table_.text_), kLeastBytes));
  }

  CsvTable parse(int64_t num_pieces) {
    const std::vector<CsvPiece> pieces = examine_csv(text(), num_pieces);
    require_text(text(), pieces, table_.path_);
    if (text().starts_with(kByteOrderMark)) read_ = kByteOrderMark.size();
    parse_header();
    if (table_.options_.first_line > 0) line_ = table_.options_.first_line;
    parse_rows(std::span(pieces).subspan(1));
    if (table_.row_lines_.empty())
      throw_error(ExitCode::kData, "{}: the file holds {}, expected at least one row of data", table_.path_,
                  num_columns_ > 0 ? "only a header" : "no rows");
    finish();
    return std::move(table_);
  }

 private:
  std::string_view text() const { return {table_.text_.data(), table_.text_.size()}; }
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

  // The delimiter or the line break after the cell leaves a byte free, which the end of the text needs not.
  void end_cell() { table_.cell_ends_.push_back(static_cast<uint32_t>(write_++)); }

  // Adds one row to the table; returns false at the end of the file.
  bool parse_row() {
    skip_blank_lines();
    if (at_end()) return false;
    table_.row_lines_.push_back(line_);
    table_.row_begins_.push_back(static_cast<uint32_t>(write_));
    const uint32_t row_line = line_;
    size_t num_cells = 0;
    do {
      parse_cell();
      ++num_cells;
    } while (skip_delimiter());
    if (at_line_break()) skip_line_break();
    check_length(num_cells, row_line);
    return true;
  }

  bool skip_delimiter() {
    if (at_end() || peek() != table_.options_.delimiter) return false;
    ++read_;
    return true;
  }

  void check_length(size_t num_cells, uint32_t line) {
    if (num_columns_ == 0) {
      if (std::cmp_greater(num_cells, kMostColumns))
        fail(line, fmt::format("got {}, expected at most {}: check the delimiter",
                               counted(static_cast<int64_t>(num_cells), "column"), format_count(kMostColumns)));
      num_columns_ = num_cells;
      first_line_ = line;
    }
    if (num_cells == num_columns_) return;
    fail(line, fmt::format("got {}, expected {} as on line {}: {}", counted(static_cast<int64_t>(num_cells), "cell"),
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
    fail(line_,
         fmt::format("got {} after a closing quote, expected {} or the end of the line: double a quote inside a cell",
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

  // Parses the rows after the header. The first row sets the number of columns, so it is parsed before the pieces,
  // which are those after it. If they have no quotes, none is open at the end of the first row, and every line break
  // ends a row.
  void parse_rows(std::span<const CsvPiece> pieces) {
    if (num_columns_ == 0 && !parse_row()) return;
    if (std::ranges::none_of(pieces, &CsvPiece::has_quote)) return parse_pieces(pieces);
    while (parse_row()) {
    }
  }

  void parse_pieces(std::span<const CsvPiece> pieces) {
    const std::vector<Task> tasks = make_room(pieces);
    std::vector<std::optional<WrongRow>> wrong(tasks.size());
    in_threads(std::ssize(tasks), [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      wrong[at] = parse_piece(text(), pieces[at], table_.options_.delimiter, num_columns_, tasks[at].first_line,
                              {.cell_ends = table_.cell_ends_.data() + tasks[at].num_cells_before,
                               .row_begins = table_.row_begins_.data() + tasks[at].num_rows_before,
                               .row_lines = table_.row_lines_.data() + tasks[at].num_rows_before});
    });
    for (const auto& row : wrong)
      if (row) check_length(row->num_cells, row->line);
  }

  // What lies before a piece.
  struct Task {
    uint32_t first_line;
    size_t num_cells_before, num_rows_before;
  };

  std::vector<Task> make_room(std::span<const CsvPiece> pieces) {
    std::vector<Task> tasks;
    Task next = {line_, table_.cell_ends_.size(), table_.row_lines_.size()};
    for (const CsvPiece& piece : pieces) {
      tasks.push_back(next);
      next.first_line += piece.num_line_breaks;
      next.num_cells_before += most_cells(piece, num_columns_);
      next.num_rows_before += piece.num_rows;
    }
    table_.cell_ends_.resize(next.num_cells_before);
    table_.row_begins_.resize(next.num_rows_before);
    table_.row_lines_.resize(next.num_rows_before);
    return tasks;
  }

  void parse_header() {
    if (table_.options_.header == CsvHeader::kAbsent || !parse_row()) return;
    name_columns();
    if (first_row_ends_with_delimiter()) table_.column_names_.push_back(fmt::format("column{}", ++num_columns_));
    table_.cell_ends_.clear();
    table_.row_begins_.clear();
    table_.row_lines_.clear();
  }

  void name_columns() {
    std::unordered_map<std::string, size_t> places;
    for (size_t i = 0; i < num_columns_; ++i) {
      const uint32_t begin = i == 0 ? table_.row_begins_[0] : table_.cell_ends_[i - 1] + 1;
      std::string name(trim(text().substr(begin, table_.cell_ends_[i] - begin)));
      if (name.empty()) name = fmt::format("column{}", i + 1);
      const auto [first, is_new] = places.emplace(name, i + 1);
      if (!is_new)
        fail(first_line_, fmt::format("the columns {} and {} are both called {}: rename one of them", first->second,
                                      i + 1, in_quotes(name)));
      table_.column_names_.push_back(std::move(name));
    }
  }

  // Some programs write a delimiter after the last cell of each row, but not of the header. The first row then has one
  // cell more than the header, which is empty.
  bool first_row_ends_with_delimiter() const {
    const std::string_view rest = text().substr(read_);
    size_t at = std::min(rest.size(), rest.find_first_not_of("\r\n"));
    size_t num_delimiters = 0, last = 0;
    for (bool is_quoted = false; at < rest.size(); ++at) {
      if (!is_quoted && (rest[at] == '\r' || rest[at] == '\n')) break;
      if (rest[at] == '"') is_quoted = !is_quoted;
      if (is_quoted || rest[at] != table_.options_.delimiter) continue;
      ++num_delimiters;
      last = at;
    }
    return num_columns_ > 1 && num_delimiters == num_columns_ && last + 1 == at;
  }

  void finish() {
    if (table_.options_.header == CsvHeader::kAbsent)
      for (size_t i = 0; i < num_columns_; ++i) table_.column_names_.push_back(fmt::format("column{}", i + 1));
    for (const std::string& name : table_.column_names_) table_.places_.emplace(name, std::ssize(table_.places_));
    if (num_columns_ == 1) refuse_blank_lines();
    table_.cell_ends_.shrink_to_fit();
    table_.row_begins_.shrink_to_fit();
    table_.row_lines_.shrink_to_fit();
  }

  // A blank line may be a missing value. If it were skipped, the rows after it would move to earlier steps.
  void refuse_blank_lines() const {
    for (int64_t row = 1; row < table_.num_rows(); ++row) {
      const int64_t expected = table_.line(row - 1, 0) + count_line_breaks(table_.cell(row - 1, 0)) + 1;
      if (table_.line(row, 0) != expected)
        fail(static_cast<uint32_t>(expected),
             "the line is blank: write NA if a value is missing there, or else remove the line");
    }
  }

  CsvTable table_;
  size_t read_ = 0;
  size_t write_ = 0;
  uint32_t line_ = 1;
  uint32_t first_line_ = 1;  // line of the row that set the number of columns
  size_t num_columns_ = 0;
};

CsvTable parse_csv(std::string_view text, const std::string& name, const CsvOptions& options) {
  return CsvParser({text.begin(), text.end()}, name, options).parse();
}

CsvTable parse_csv_in_pieces(std::string_view text, const std::string& name, const CsvOptions& options,
                             int64_t num_pieces) {
  return CsvParser({text.begin(), text.end()}, name, options).parse(num_pieces);
}

CsvTable read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  UnfilledVector<char> text = read_whole_unfilled(path, kLargestFile);
  if (text.empty()) throw_error(ExitCode::kData, "{}: empty file, expected CSV: check the path", path.string());
  return CsvParser(std::move(text), path.string(), options).parse();
}

int64_t CsvTable::column_index(std::string_view name) const {
  if (const auto found = places_.find(std::string(name)); found != places_.end()) return found->second;
  throw_error(ExitCode::kData, "{}: no column is called {}{}; the columns are {}{}", path_, in_quotes(name),
              did_you_mean(name, column_names_), list_names(column_names_),
              delimiter_hint(column_names_, options_.delimiter));
}

std::string_view CsvTable::cell(int64_t row, int64_t column) const {
  const auto at = static_cast<size_t>(row * num_columns() + column);
  const uint32_t begin = column == 0 ? row_begins_[static_cast<size_t>(row)] : cell_ends_[at - 1] + 1;
  return {text_.data() + begin, cell_ends_[at] - begin};
}

std::string_view CsvTable::value(int64_t row, int64_t column) const { return trim(cell(row, column)); }

bool CsvTable::is_missing(int64_t row, int64_t column) const {
  return rnnlab::is_missing(value(row, column), options_);
}

void CsvTable::fail_at(int64_t row, int64_t column, const std::string& message) const {
  throw_error(ExitCode::kData, "{}:{}: column {}: {}", path_, line(row, column), in_quotes(column_name(column)),
              message);
}

int64_t CsvTable::line(int64_t row, int64_t column) const {
  int64_t line = row_lines_[static_cast<size_t>(row)];
  for (int64_t before = 0; before < column; ++before) line += count_line_breaks(cell(row, before));
  return line;
}

}  // namespace rnnlab
