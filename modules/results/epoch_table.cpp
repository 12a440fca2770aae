// SPDX-License-Identifier: Apache-2.0
#include "results/epoch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/numbers.h"
#include "base/system/terminal.h"

namespace rnnlab {
namespace {

struct Unit {
  const char* name;
  double factor;
  double smallest;  // the smallest value that is shown in this unit
};

constexpr std::array<Unit, 2> kTimes = {{{"s", 1, 1}, {"ms", 1e3, 0}}};
constexpr double kKibi = 1024;
constexpr std::array<Unit, 2> kSizes = {
    {{"GiB", 1 / (kKibi * kKibi * kKibi), kKibi* kKibi* kKibi}, {"MiB", 1 / (kKibi * kKibi), 0}}};

template <size_t N>
const Unit& unit_for(const std::array<Unit, N>& units, double value) {
  return *std::ranges::find_if(units, [&](const Unit& unit) { return value >= unit.smallest; });
}

// Returns the smallest magnitude that is neither zero nor not finite; 0 if there is none.
double smallest_magnitude(std::span<const double> values) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double value : values)
    if (std::isfinite(value) && value != 0) smallest = std::min(smallest, std::abs(value));
  return std::isfinite(smallest) ? smallest : 0;
}

// Returns the decimals that show about four digits of the value.
int usual_decimals(double value, int least, int most) {
  constexpr int kDigits = 4;
  return value == 0 ? std::min(kDigits, most) : std::clamp(decimals_for(value, kDigits), least, most);
}

ColumnFormat with_unit(const std::string& heading, const Unit& unit, double smallest, int most_decimals) {
  return {fmt::format("{} {}", heading, unit.name), unit.factor,
          usual_decimals(smallest * unit.factor, 0, most_decimals)};
}

}  // namespace

ColumnFormat column_format(NumberKind kind, const std::string& heading, std::span<const double> values) {
  constexpr int kMostDecimals = 8, kMostOfTimes = 3, kMostOfSizes = 2, kUsual = 4;
  const double smallest = smallest_magnitude(values);
  switch (kind) {
    case NumberKind::kCount:
      return {heading, 1, 0};
    case NumberKind::kShare:
      return {heading, 1, kUsual};
    case NumberKind::kLoss:
      return {heading, 1, usual_decimals(smallest, kUsual, kMostDecimals)};
    case NumberKind::kMeasure:
      return {heading, 1, usual_decimals(smallest, 0, kMostDecimals)};
    case NumberKind::kSeconds:
      return with_unit(heading, unit_for(kTimes, smallest), smallest, kMostOfTimes);
    case NumberKind::kBytes:
      return with_unit(heading, unit_for(kSizes, smallest), smallest, kMostOfSizes);
  }
  return {heading, 1, kUsual};
}

std::string number_text(const ColumnFormat& format, double value, size_t width) {
  constexpr double kLargestCount = 1e15;
  if (std::isnan(value)) return "nan";  // the sign of a NaN has no meaning
  const double shown = value * format.factor;
  if (format.decimals == 0 && std::abs(shown) < kLargestCount) {
    std::string count = format_count(std::llround(shown));
    if (count.size() <= width) return count;
  }
  for (int decimals = format.decimals; decimals >= 0; --decimals)
    if (std::string text = fmt::format("{:.{}f}", shown, decimals); text.size() <= width) return text;
  return fmt::format("{:.3e}", shown);
}

namespace {

// The first row lacks the validation if it was cut short.
bool belongs_to_validation(const EpochColumn& column, const EpochRow& first, Validation validation) {
  constexpr std::string_view kPrefix = "valid_";
  if (validation == Validation::kNo || !column.name.starts_with(kPrefix)) return false;
  if (column.name == "valid_seconds") return true;
  const EpochColumn* const of_training = find_column("train_" + column.name.substr(kPrefix.size()));
  return of_training != nullptr && number_in(first, *of_training);
}

// Returns the columns of the table, the most important first.
std::vector<const EpochColumn*> by_importance() {
  std::vector<const EpochColumn*> columns;
  for (const EpochColumn& column : epoch_columns())
    if (column.place > 0) columns.push_back(&column);
  std::ranges::stable_sort(columns, {}, &EpochColumn::place);
  return columns;
}

std::vector<const EpochColumn*> columns_of(const EpochRow& first, Validation validation) {
  std::vector<const EpochColumn*> found;
  for (const EpochColumn* column : by_importance())
    if (number_in(first, *column) || first.undefined.contains(column->name) ||
        belongs_to_validation(*column, first, validation))
      found.push_back(column);
  return found;
}

constexpr size_t kBetweenColumns = 2;
constexpr size_t kWidestMark = std::string_view("  (cut short)").size();

}  // namespace

// The width fits the heading and a usual number.
EpochTable::Column EpochTable::make_column(const EpochColumn& values, const EpochRow& first) {
  constexpr size_t kUsualNumber = 7;
  std::vector<double> known;
  if (const auto value = number_in(first, values)) known.push_back(*value);
  ColumnFormat format = column_format(values, known);
  size_t width = std::max(format.heading.size(), values.name == "epoch" ? 0 : kUsualNumber);
  return {&values, std::move(format), width};
}

EpochTable::EpochTable(const EpochRow& first, size_t width, Validation validation) {
  constexpr size_t kAlwaysShown = 2;
  size_t taken = kWidestMark;
  for (const EpochColumn* values : columns_of(first, validation)) {
    Column column = make_column(*values, first);
    taken += column.width + (columns_.empty() ? 0 : kBetweenColumns);
    if (columns_.size() >= kAlwaysShown && taken > width) return;
    columns_.push_back(std::move(column));
  }
}

namespace {

// Appends a right-aligned cell to a line.
void append_cell(std::string& line, const std::string& cell, size_t width) {
  if (!line.empty()) line += std::string(kBetweenColumns, ' ');
  line += padded(cell, width, Align::kRight);
}

}  // namespace

std::string EpochTable::header() const {
  std::string line;
  for (const Column& column : columns_) append_cell(line, column.format.heading, column.width);
  return line;
}

std::string EpochTable::line(const EpochRow& row, const std::string& mark) const {
  std::string line;
  for (const Column& column : columns_) {
    const auto value = number_in(row, *column.values);
    append_cell(line, value ? number_text(column.format, *value, column.width) : "-", column.width);
  }
  if (!mark.empty()) return fmt::format("{}  ({})", line, mark);
  return row.warmup ? line + "  (warm-up)" : line;
}

}  // namespace rnnlab
