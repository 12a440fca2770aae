// SPDX-License-Identifier: Apache-2.0
// Fuzzes a table of unknown origin; the first byte is the delimiter. A valid table is written in quotes and read again:
// it must be the same. Then columns are made from it, under every policy. Parsed in several pieces, a text must give
// the same table, or the same message.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "data/readers/csv.h"
#include "fuzz/fuzz_support.h"

namespace rnnlab::testing {
namespace {

std::string in_double_quotes(std::string_view cell) {
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

template <class CellAt>
std::string line_of(const CsvTable& table, CellAt cell_at) {
  std::string line;
  for (int64_t column = 0; column < table.num_columns(); ++column) {
    if (column > 0) line += table.options().delimiter;
    line += in_double_quotes(cell_at(column));
  }
  return line + "\n";
}

std::string csv_of(const CsvTable& table) {
  std::string text;
  if (table.options().header == CsvHeader::kPresent)
    text += line_of(table, [&](int64_t column) { return table.column_names()[static_cast<size_t>(column)]; });
  for (int64_t row = 0; row < table.num_rows(); ++row)
    text += line_of(table, [&](int64_t column) { return table.cell(row, column); });
  return text;
}

void require_same(const CsvTable& a, const CsvTable& b) {
  require(a.column_names() == b.column_names() && a.num_rows() == b.num_rows());
  for (int64_t row = 0; row < a.num_rows(); ++row)
    for (int64_t column = 0; column < a.num_columns(); ++column) require(a.cell(row, column) == b.cell(row, column));
}

void require_same_lines(const CsvTable& a, const CsvTable& b) {
  for (int64_t row = 0; row < a.num_rows(); ++row)
    for (int64_t column = 0; column < a.num_columns(); ++column) require(a.line(row, column) == b.line(row, column));
}

struct Outcome {
  std::optional<CsvTable> table;
  std::string message;
};

Outcome outcome_of(const std::string& text, const CsvOptions& options, int64_t num_pieces) {
  try {
    return {.table = parse_csv_in_pieces(text, "x.csv", options, num_pieces), .message = ""};
  } catch (const UserError& error) {
    return {.table = std::nullopt, .message = error.what()};
  }
}

// Threads take a thousand times as long as a small text, so one text of eight is parsed in pieces.
void read_in_pieces(const std::string& text, const CsvOptions& options) {
  constexpr size_t kOneOf = 8, kMostPieces = 5;
  const size_t number = std::hash<std::string>()(text);
  if (number % kOneOf != 0) return;
  const auto num_pieces = static_cast<int64_t>(2 + number / kOneOf % (kMostPieces - 1));
  const Outcome whole = outcome_of(text, options, 1);
  const Outcome pieces = outcome_of(text, options, num_pieces);
  require(whole.message == pieces.message);
  if (!whole.table) return;
  require_same(*whole.table, *pieces.table);
  require_same_lines(*whole.table, *pieces.table);
}

void read_numbers(const CsvTable& table, const std::string& name, MissingPolicy policy) {
  const NumericColumn column = numeric_column(table, name, policy);
  const auto is_usable = [&](double value) {
    return std::isfinite(value) || (policy == MissingPolicy::kDrop && std::isnan(value));
  };
  require(std::ranges::all_of(column.values, is_usable));
}

void read_classes(const CsvTable& table, const std::string& name) {
  const ClassColumn column = class_column(table, name);
  require(class_column_as(table, name, column.labels) == column.classes);
}

void read_columns(const CsvTable& table) {
  using enum MissingPolicy;
  constexpr int64_t kMostColumns = 4;
  for (int64_t i = 0; i < std::min(table.num_columns(), kMostColumns); ++i) {
    const std::string& name = table.column_names()[static_cast<size_t>(i)];
    for (const MissingPolicy policy : {kError, kDrop})
      expect_read_or_refused(ExitCode::kData, [&] { read_numbers(table, name, policy); });
    expect_read_or_refused(ExitCode::kData, [&] { read_classes(table, name); });
  }
}

void read(const std::string& text, const CsvOptions& options) {
  const CsvTable table = parse_csv(text, "x.csv", options);
  require_same(table, parse_csv(csv_of(table), "again.csv", options));
  read_columns(table);
  expect_read_or_refused(ExitCode::kData, [&] { table.column_index("no such column"); });
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  if (size == 0) return 0;
  const std::string text = testing::text_of(data + 1, size - 1);
  const bool is_delimiter =
      data[0] < 0x80 && std::string_view("\"\r\n").find(static_cast<char>(data[0])) == std::string_view::npos;
  const char delimiter = is_delimiter ? static_cast<char>(data[0]) : ',';
  for (const CsvHeader header : {CsvHeader::kPresent, CsvHeader::kAbsent})
    testing::expect_read_or_refused(ExitCode::kData,
                                    [&] { testing::read(text, {.delimiter = delimiter, .header = header}); });
  testing::read_in_pieces(text, {.delimiter = delimiter});
  return 0;
}
