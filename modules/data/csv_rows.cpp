#include "data/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// The cells of data.id's columns.
class IdReader {
 public:
  IdReader(const Table& table, const std::vector<std::string>& names) : table_(table) {
    for (const std::string& name : names) columns_.push_back(table.column_index(name));
  }

  std::vector<std::string> read(int64_t row) const {
    if (row >= table_.num_rows()) return std::vector<std::string>(columns_.size());
    std::vector<std::string> cells;
    for (const int64_t column : columns_) cells.emplace_back(table_.cell(row, column));
    return cells;
  }

 private:
  const Table& table_;
  std::vector<int64_t> columns_;
};

// The rows of a window follow one another in the file.
int64_t predicted_row(const Windows& windows, size_t sample, int64_t horizon) {
  const int64_t first = windows.first[sample];
  return windows.window == 0 ? first : first + windows.window - 1 + horizon;
}

std::string missing_features(const CsvPart& part, int64_t row) {
  const auto is_missing_in = [row](const NumericColumn& column) {
    return std::isnan(column.values[static_cast<size_t>(row)]);
  };
  const auto first = std::ranges::find_if(part.features, is_missing_in);
  RNNLAB_INVARIANT(first != part.features.end(), "a row without a sample lacks a feature");
  const auto others = std::count_if(std::next(first), part.features.end(), is_missing_in);
  return fmt::format("missing value in column {}{}", in_quotes(first->name),
                     others == 0 ? "" : fmt::format(" and {}", counted(others, "other")));
}

std::string why_not_predicted(const CsvPart& part, int64_t row, const DataSettings& settings) {
  if (settings.window == 0) return missing_features(part, row);
  return fmt::format("no full window before it (data.window {}, data.horizon {})", settings.window, settings.horizon);
}

}  // namespace

FileRows rows_of_samples(const CsvPart& part, const Windows& windows, const DataSettings& settings) {
  const IdReader ids(part.table, settings.id);
  FileRows result{.id_names = settings.id, .rows = {}};
  for (size_t sample = 0; sample < windows.first.size(); ++sample) {
    const int64_t row = predicted_row(windows, sample, settings.horizon);
    result.rows.push_back(
        {.number = row + 1, .id = ids.read(row), .sample = static_cast<int64_t>(sample), .reason = ""});
  }
  return result;
}

FileRows rows_of_file(const CsvPart& part, const Windows& windows, const DataSettings& settings) {
  FileRows predicted = rows_of_samples(part, windows, settings);
  const IdReader ids(part.table, settings.id);
  FileRows result{.id_names = settings.id, .rows = {}};
  auto next = predicted.rows.begin();
  for (int64_t row = 0; row < part.table.num_rows(); ++row) {
    const bool is_predicted = next != predicted.rows.end() && next->number == row + 1;
    if (is_predicted)
      result.rows.push_back(std::move(*next++));
    else
      result.rows.push_back({.number = row + 1,
                             .id = ids.read(row),
                             .sample = std::nullopt,
                             .reason = why_not_predicted(part, row, settings)});
  }
  std::move(next, predicted.rows.end(), std::back_inserter(result.rows));
  return result;
}

}  // namespace rnnlab
