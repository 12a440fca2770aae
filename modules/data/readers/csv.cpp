// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

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

  // Adds one row to the table; returns false at the end of the file.
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

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool equal_ignoring_case(std::string_view a, std::string_view lower_case) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, lower_case, {}, lower);
}

bool is_infinite(std::string_view cell) {
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  return equal_ignoring_case(cell, "inf") || equal_ignoring_case(cell, "infinity");
}

}  // namespace

bool is_missing(std::string_view cell) {
  constexpr std::array<std::string_view, 4> kTokens = {"na", "nan", "null", "?"};
  return cell.empty() ||
         std::ranges::any_of(kTokens, [&](std::string_view token) { return equal_ignoring_case(cell, token); });
}

namespace {

// Returns nothing for a cell that has a point.
std::optional<double> number_with_comma(std::string_view cell) {
  if (cell.find('.') != std::string_view::npos) return std::nullopt;
  std::string with_point(cell);
  if (const size_t comma = with_point.find(','); comma != std::string::npos) with_point[comma] = '.';
  return parse_double(with_point);
}

}  // namespace

bool has_decimal_comma(std::string_view cell) {
  const size_t comma = cell.find(',');
  return comma != std::string_view::npos && comma + 1 < cell.size() && number_with_comma(cell).has_value();
}

std::optional<double> number_of(std::string_view cell, const CsvOptions& options) {
  return options.decimal == ',' ? number_with_comma(cell) : parse_double(cell);
}

bool is_text(std::string_view cell) {
  return !is_missing(cell) && !is_infinite(cell) && !has_decimal_comma(cell) && !parse_double(cell);
}

namespace {

[[noreturn]] void fail_at_cell(const Table& table, int64_t row, int64_t column, const std::string& message) {
  throw_error(ExitCode::kData, "{}:{}: column {}: {}", table.path(), table.line(row, column),
              in_quotes(table.column_names()[static_cast<size_t>(column)]), message);
}

[[noreturn]] void fail_missing(const Table& table, int64_t row, int64_t column, std::string_view wanted) {
  const std::string_view cell = trim(table.cell(row, column));
  fail_at_cell(table, row, column,
               cell.empty() ? fmt::format("the cell is empty, expected {}", wanted)
                            : fmt::format("the value is missing ({}), expected {}", in_quotes(cell), wanted));
}

std::string hint_on_decimal(std::string_view cell, const CsvOptions& options) {
  if (options.decimal == ',') return parse_double(cell) ? " with a decimal comma (data.decimal), not a point" : "";
  return has_decimal_comma(cell) ? " with a decimal point; if the file has commas, set data.decimal: \",\"" : "";
}

double number_at(const Table& table, int64_t row, int64_t column) {
  const std::string_view cell = trim(table.cell(row, column));
  if (const auto number = number_of(cell, table.options())) return *number;
  if (is_missing(cell)) return kMissing;
  fail_at_cell(table, row, column,
               fmt::format("got {}, expected a {}number{}", in_quotes(cell), is_infinite(cell) ? "finite " : "",
                           hint_on_decimal(cell, table.options())));
}

void fill_with(double value, std::vector<double>& values) {
  std::ranges::replace_if(
      values, [](double x) { return std::isnan(x); }, value);
}

void fill_with_previous(std::vector<double>& values) {
  for (size_t i = 1; i < values.size(); ++i)
    if (std::isnan(values[i])) values[i] = values[i - 1];
}

// Returns the mean of the values without NaN, or NaN if all are NaN. A running mean avoids the overflow of a sum.
double mean_of(const std::vector<double>& values, std::span<const int64_t> rows) {
  double mean = 0;
  double count = 0;
  const auto add = [&](double value) {
    if (std::isnan(value)) return;
    count += 1;
    mean += value / count - mean / count;
  };
  for (const int64_t row : rows) add(values[static_cast<size_t>(row)]);
  if (rows.empty()) std::ranges::for_each(values, add);
  return count > 0 ? mean : kMissing;
}

void apply(MissingPolicy policy, const Table& table, int64_t column, std::span<const int64_t> fit_rows,
           std::vector<double>& values) {
  const auto first = std::ranges::find_if(values, [](double value) { return std::isnan(value); });
  if (first == values.end() || policy == MissingPolicy::kDrop) return;
  const int64_t row = first - values.begin();
  if (policy == MissingPolicy::kError)
    fail_missing(table, row, column, "a number: fill it, or set data.missing to previous, mean, zero or drop");
  if (policy == MissingPolicy::kZero) return fill_with(0, values);
  if (policy == MissingPolicy::kPrevious) {
    if (row == 0)
      fail_missing(table, row, column, "a number: the first row has no previous row to copy the value from");
    return fill_with_previous(values);
  }
  const double mean = mean_of(values, fit_rows);
  if (std::isnan(mean)) fail_missing(table, row, column, "a number: the column has no values to compute a mean from");
  fill_with(mean, values);
}

// Returns the label in the form in which labels are compared: integers are normalised, so that "+3" and "3" are equal.
std::string normal_label(std::string_view cell, bool integers) {
  return integers ? fmt::format("{}", *parse_int64(cell)) : std::string(cell);
}

std::vector<std::string> sorted_labels(const std::unordered_set<std::string_view>& cells) {
  const bool integers = std::ranges::all_of(cells, [](std::string_view cell) { return parse_int64(cell).has_value(); });
  std::vector<std::string> labels;
  for (const std::string_view cell : cells) labels.push_back(normal_label(cell, integers));
  if (integers) {
    std::ranges::sort(labels, {}, [](const std::string& label) { return *parse_int64(label); });
  } else {
    std::ranges::sort(labels);
  }
  const auto rest = std::ranges::unique(labels);
  labels.erase(rest.begin(), rest.end());
  return labels;
}

std::string_view label_at(const Table& table, int64_t row, int64_t column) {
  const std::string_view cell = trim(table.cell(row, column));
  if (is_missing(cell)) fail_missing(table, row, column, "a class label: fill it or remove the row");
  return cell;
}

// Returns the class of a label, or -1. An integer is found in every spelling.
int64_t find_class(const std::unordered_map<std::string, int64_t>& class_of, std::string_view cell) {
  auto found = class_of.find(std::string(cell));
  if (found == class_of.end() && parse_int64(cell)) found = class_of.find(normal_label(cell, true));
  return found == class_of.end() ? -1 : found->second;
}

std::vector<int64_t> encode(const Table& table, int64_t column, const std::vector<std::string>& labels,
                            MissingLabels missing) {
  std::unordered_map<std::string, int64_t> class_of;
  for (const std::string& label : labels) class_of.emplace(label, static_cast<int64_t>(class_of.size()));
  std::vector<int64_t> classes;
  classes.reserve(static_cast<size_t>(table.num_rows()));
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    if (missing == MissingLabels::kUnknown && is_missing(trim(table.cell(row, column)))) {
      classes.push_back(-1);
      continue;
    }
    const std::string_view cell = label_at(table, row, column);
    classes.push_back(find_class(class_of, cell));
    if (classes.back() < 0)
      fail_at_cell(table, row, column,
                   fmt::format("got the class {}, which the training data does not have{}", in_quotes(cell),
                               did_you_mean(cell, labels)));
  }
  return classes;
}

}  // namespace

NumericColumn numeric_column(const Table& table, std::string_view name, MissingPolicy policy,
                             std::span<const int64_t> fit_rows) {
  const int64_t column = table.column_index(name);
  NumericColumn result{std::string(name), std::vector<double>(static_cast<size_t>(table.num_rows()))};
  for (int64_t row = 0; row < table.num_rows(); ++row)
    result.values[static_cast<size_t>(row)] = number_at(table, row, column);
  result.num_missing = std::ranges::count_if(result.values, [](double value) { return std::isnan(value); });
  apply(policy, table, column, fit_rows, result.values);
  return result;
}

std::vector<int64_t> complete_rows(std::span<const NumericColumn> columns) {
  std::vector<int64_t> rows;
  const size_t num_rows = columns.empty() ? 0 : columns[0].values.size();
  for (size_t row = 0; row < num_rows; ++row)
    if (std::ranges::none_of(columns, [row](const NumericColumn& column) { return std::isnan(column.values[row]); }))
      rows.push_back(static_cast<int64_t>(row));
  return rows;
}

ClassColumn class_column(const Table& table, std::string_view name) {
  const int64_t column = table.column_index(name);
  std::unordered_set<std::string_view> cells;
  for (int64_t row = 0; row < table.num_rows(); ++row) cells.insert(label_at(table, row, column));
  std::vector<std::string> labels = sorted_labels(cells);
  std::vector<int64_t> classes = encode(table, column, labels, MissingLabels::kRefused);
  return {std::move(classes), std::move(labels)};
}

std::vector<int64_t> class_column_as(const Table& table, std::string_view name, const std::vector<std::string>& labels,
                                     MissingLabels missing) {
  return encode(table, table.column_index(name), labels, missing);
}

}  // namespace rnnlab
