// SPDX-License-Identifier: Apache-2.0
// A table as a list of columns: each has a heading and makes the cell of a row. Tables for people, CSV for programs and
// the tables of reports are made of such lists, so a heading and its cells are written in one place.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/numbers.h"
#include "base/system/terminal.h"
#include "base/text.h"

namespace rnnlab {

inline constexpr const char* kNothing = "-";  // the cell of an absent value in a table for people

// Return the cell of a value for programs: numbers have full precision, an absent value is empty, and several texts
// have "; " between them.
inline std::string cell_text(std::string text) { return text; }
inline std::string cell_text(const char* text) { return text; }
inline std::string cell_text(double value) { return format_shortest(value); }
inline std::string cell_text(const std::vector<std::string>& texts) { return join(texts, "; "); }
template <std::integral Number>
std::string cell_text(Number value) {
  if constexpr (std::same_as<Number, bool>)
    return value ? "1" : "0";
  else
    return std::to_string(value);
}
template <class Enum>
requires std::is_enum_v<Enum> std::string cell_text(Enum value) { return std::string(config::name_of(value)); }
template <class Value>
requires requires(const Value& value) { cell_text(value); }
std::string cell_text(const std::optional<Value>& value) { return value ? cell_text(*value) : ""; }
template <std::integral Number>
std::string cell_text(const std::vector<Number>& numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

template <class Row>
struct Column {
  // `value` is a member of the row, or a function of the row; its result is a cell, or becomes one by cell_text.
  // Columns are left out of a table that is too wide in the order of `left_out`; those with 0 stay.
  template <class Value>
  Column(std::string name, Value value, Align alignment = Align::kRight, int left_out_as = 0)
      : heading(std::move(name)),
        cell([value = std::move(value)](const Row& row) { return cell_text(std::invoke(value, row)); }),
        align(alignment),
        left_out(left_out_as) {}

  std::string heading;
  std::function<std::string(const Row&)> cell;
  Align align;
  int left_out;
};

template <class Row>
using ColumnList = std::vector<Column<Row>>;

template <class Row, class Rows>
TextTable table_of(const ColumnList<Row>& columns, Rows&& rows) {
  TextTable table;
  for (const Column<Row>& column : columns) table.add_column(column.heading, column.align);
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const Column<Row>& column : columns) cells.push_back(column.cell(row));
    table.add_row(std::move(cells));
  }
  return table;
}

// Returns the table as far as it fits into `width`.
template <class Row, class Rows>
FittedTable fitted_table(const ColumnList<Row>& columns, Rows&& rows, size_t width) {
  std::vector<size_t> least_important;
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].left_out > 0) least_important.push_back(i);
  std::ranges::stable_sort(least_important, {}, [&](size_t i) { return columns[i].left_out; });
  return table_of(columns, rows).fitted(width, least_important);
}

// Return the table as CSV (RFC 4180).
inline std::string csv_of(const TextTable& table) {
  std::vector<std::string> headings;
  for (const TableColumn& column : table.columns()) headings.push_back(column.heading);
  std::string text = csv_line(headings);
  for (const auto& row : table.rows()) text += csv_line(row);
  return text;
}
template <class Row, class Rows>
std::string csv_of(const ColumnList<Row>& columns, Rows&& rows) {
  return csv_of(table_of(columns, rows));
}

// Return the address of a record that a row has, or null.
template <class Record>
const Record* address_of(const Record& record) {
  return &record;
}
template <class Record>
const Record* address_of(const std::optional<Record>& record) {
  return record ? &*record : nullptr;
}

// Returns the cell of a field by its key (base/fields.h); "" without a record.
template <class Record>
std::string cell_of_field(const Record* record, const std::string& key) {
  std::optional<std::string> cell;
  const auto take = [&](const std::string& name, const auto& member, int64_t) {
    if constexpr (requires { cell_text(member); })
      if (name == key) cell = cell_text(member);
  };
  if (record == nullptr) return "";
  record->visit_fields(take);
  RNNLAB_INVARIANT(cell.has_value(), "a column is of a field that the record does not have, or that has no cell");
  return *cell;
}

// Adds columns with the keys and values of these fields of a record; `record_of` is a member of the row, or a function
// of the row.
template <class Row, class RecordOf>
void add_fields(ColumnList<Row>& columns, const std::vector<std::string>& keys, RecordOf record_of,
                const std::string& prefix = "") {
  for (const std::string& key : keys)
    columns.emplace_back(prefix + key,
                         [=](const Row& row) { return cell_of_field(address_of(std::invoke(record_of, row)), key); });
}

template <class Row>
void add_fields(ColumnList<Row>& columns, const std::vector<std::string>& keys) {
  add_fields(columns, keys, std::identity());
}

// Returns the keys of all fields of a record, in their order.
template <class Record>
std::vector<std::string> keys_of_fields() {
  std::vector<std::string> keys;
  Record().visit_fields([&](const std::string& key, const auto&, int64_t) { keys.push_back(key); });
  return keys;
}

// Returns whether all of at least one row have the same cell, which is then said once.
template <class Row, class Rows>
bool is_equal_in_all(const Column<Row>& column, const Rows& rows) {
  if (std::ranges::empty(rows)) return false;
  const std::string first = column.cell(*std::ranges::begin(rows));
  return std::ranges::all_of(rows, [&](const Row& row) { return column.cell(row) == first; });
}

template <class Row>
void append(ColumnList<Row>& columns, ColumnList<Row> more) {
  std::ranges::move(more, std::back_inserter(columns));
}

}  // namespace rnnlab
