// SPDX-License-Identifier: Apache-2.0
// The columns of data.categories: the values of the training part, and the numbers that stand for them.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/csv_part.h"
#include "data/readers/spellings.h"

namespace rnnlab {

std::vector<CategoryColumn> categories_in(CsvPart& part, const std::vector<int64_t>& rows,
                                          const DataSettings& settings) {
  std::vector<CategoryColumn> all;
  for (const std::string& name : settings.categories) {
    const int64_t column = part.table.column_index(name);
    const std::vector<std::string_view> present = distinct_cells(part.table, column, part.table_rows(rows));
    if (present.empty())
      throw_error(ExitCode::kData, "{}: column {} has no value in the training part: remove it from data.categories",
                  part.table.path(), in_quotes(name));
    all.push_back({name, distinct_values(present, part.table.options())});
    add_once(part.notes, note_on_spellings(present, name, part.table.options()));
  }
  return all;
}

namespace {

// Counts the cells of a column of categories that have no number, and keeps the first of their values: one more than
// messages show.
struct UnknownCells {
  int64_t num_missing = 0, num_unknown = 0, num_known = 0;
  std::vector<std::string> examples;  // in quotes
};

constexpr size_t kMostExamples = 5;

std::string listed(const std::vector<std::string>& values) {
  std::vector<std::string> shown;
  for (const std::string& value : std::span(values).first(std::min(values.size(), kMostExamples)))
    shown.push_back(in_quotes(value));
  return join(shown, ", ") + (values.size() > kMostExamples ? " ..." : "");
}

std::string vector_text(int64_t count) { return count == 1 ? "has the vector 0" : "have the vector 0"; }

// Before this check, checkpoints were made of data with missing categories, and stay usable.
void refuse_missing_category(const CsvPart& part, int64_t row, int64_t column, std::string_view cell,
                             const DataSettings& settings) {
  if (settings.missing != MissingPolicy::kError || part.is_of_old_run) return;
  part.table.fail_at(
      part.table_row(row), column,
      fmt::format("the value is missing{}, expected one of data.categories: fill it, or set data.missing to previous, "
                  "mean or zero, which all give it the vector 0{}",
                  cell.empty() ? "" : fmt::format(" ({})", in_quotes(cell)),
                  cell.empty() ? ""
                               : fmt::format("; if {} is a value, set data.missing_words to the words that mean a "
                                             "missing value ([] for none)",
                                             in_quotes(cell))));
}

NumericColumn codes_of(const CsvPart& part, const CategoryColumn& category, const DataSettings& settings,
                       UnknownCells& others) {
  const int64_t column = part.table.column_index(category.name);
  const ValueIndex index(category.values, part.table.options());
  NumericColumn codes{.name = category.name, .values = {}};
  for (int64_t row = 0; row < part.num_rows(); ++row) {
    const int64_t own = part.table_row(row);
    const std::string_view cell = own == kNoRow ? "" : part.table.value(own, column);
    const int64_t place = index.find(cell);
    codes.values.push_back(static_cast<double>(place + 1));
    const bool is_known = place >= 0, is_absent = !is_known && is_missing(cell, part.table.options());
    if (is_absent) refuse_missing_category(part, row, column, cell, settings);
    others.num_known += is_known;
    others.num_missing += is_absent;
    others.num_unknown += !is_known && !is_absent;
    if (!is_known && !is_absent && others.examples.size() <= kMostExamples)
      add_once(others.examples, std::string(cell));
  }
  return codes;
}

void require_known(const CsvPart& part, const CategoryColumn& category, const UnknownCells& others) {
  if (others.num_known > 0 || part.num_rows() == 0 || part.is_one_of_many) return;
  throw_error(ExitCode::kData,
              "{}: no cell of column {} has a value of the training part ({}): {}; use data like those "
              "of training",
              part.table.path(), in_quotes(category.name), listed(category.values),
              others.examples.empty() ? "all are missing" : "the file has " + listed(others.examples));
}

void note_unknown(CsvPart& part, const CategoryColumn& category, const UnknownCells& others) {
  const std::string name = in_quotes(category.name);
  if (others.num_unknown > 0)
    part.notes.push_back(fmt::format("warning: {} of {} {} not a value of the training part, such as {}, and {}",
                                     counted(others.num_unknown, "cell"), name, others.num_unknown == 1 ? "is" : "are",
                                     listed(others.examples), vector_text(others.num_unknown)));
  if (others.num_missing > 0)
    part.notes.push_back(fmt::format("{} of {} {} missing, and {}", counted(others.num_missing, "cell"), name,
                                     others.num_missing == 1 ? "is" : "are", vector_text(others.num_missing)));
}

}  // namespace

void add_categories(CsvPart& part, const std::vector<CategoryColumn>& categories, const DataSettings& settings) {
  for (const CategoryColumn& category : categories) {
    UnknownCells others;
    NumericColumn codes = codes_of(part, category, settings, others);
    require_known(part, category, others);
    note_unknown(part, category, others);
    part.features.push_back(std::move(codes));
  }
}

}  // namespace rnnlab
