#include "data/readers/csv.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/byte_stream.h"

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

// A few names for a message.
std::string list_names(std::span<const std::string> names) {
  constexpr size_t kMostShown = 10;
  std::vector<std::string> shown;
  for (const std::string& name : names.first(std::min(names.size(), kMostShown))) shown.push_back(in_quotes(name));
  const std::string more = names.size() > kMostShown ? fmt::format(" and {} more", names.size() - kMostShown) : "";
  return join(shown, ", ") + more;
}

// What a table of one column was perhaps really separated by.
std::string delimiter_hint(const std::vector<std::string>& names, char delimiter) {
  if (names.size() != 1) return "";
  for (const char other : std::string_view(",;\t|"))
    if (other != delimiter && names[0].find(other) != std::string::npos)
      return fmt::format("; is the delimiter {}?", other == '\t' ? "a tab" : in_quotes(std::string_view(&other, 1)));
  return "";
}

}  // namespace

// Walks the text once and packs the cells, without quotes and delimiters, into its front: they never take more room.
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
    while (parse_row()) table_.row_lines_.push_back(row_line_);
    if (table_.row_lines_.empty())
      throw_error(ExitCode::kData, "{}: the file holds {}, expected at least one row of data", table_.path_,
                  num_columns_ > 0 ? "only a header" : "no rows");
    finish();
    return std::move(table_);
  }

 private:
  std::string_view text() const { return table_.text_; }
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

  // One row into the table; false at the end of the file.
  bool parse_row() {
    skip_blank_lines();
    if (at_end()) return false;
    row_line_ = line_;
    size_t num_cells = 0;
    do {
      parse_cell();
      ++num_cells;
    } while (skip_delimiter());
    if (at_line_break()) skip_line_break();
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
        fail(row_line_, fmt::format("got {}, expected at most {}: is the delimiter right?",
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
    if (num_columns_ == 1) return fmt::format("is {} the delimiter? Another one is named by data.delimiter", delimiter);
    return "mend the row, or put quotes around a cell that holds " + delimiter;
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
        fail(first_line_, fmt::format("the columns {} and {} are both called {}: give each its own name", first->second,
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
  uint32_t first_line_ = 1;  // of the row that set the number of columns
  size_t num_columns_ = 0;
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
