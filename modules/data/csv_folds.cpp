// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/numbers.h"
#include "data/csv_part.h"

namespace rnnlab {
namespace {

int64_t num_rows_of(const CsvSeries& series) { return series.rows.end - series.rows.begin; }

void append(RowRange rows, std::vector<int64_t>& part) {
  for (int64_t row = rows.begin; row < rows.end; ++row) part.push_back(row);
}

void require_series_for_folds(const CsvPart& part, const SplitRequest& request) {
  int64_t longest = 0;
  for (const CsvSeries& series : part.series) {
    const int64_t num_others = num_rows_of(series) - num_for_test(num_rows_of(series), request);
    if (num_others >= rows_for_folds(num_others, request)) return;
    longest = std::max(longest, num_others);
  }
  throw_error(ExitCode::kData,
              "{}: data.folds: {} validation parts of {}, and {} for the training of the first fold, need {} of a "
              "series, but the longest has {}{}; {}",
              part.table.path(), request.num_folds, counted(fold_block(longest, request).size, "row"),
              counted(request.least_train, "row"), counted(rows_for_folds(longest, request), "row"),
              format_count(longest), request.num_test > 0 || request.test_fraction > 0 ? " without its test part" : "",
              how_to_fit_folds(request));
}

}  // namespace

RowSplit fold_of_each_series(const CsvPart& part, const SplitRequest& request, std::vector<std::string>& notes) {
  require_series_for_folds(part, request);
  RowSplit all;
  int64_t num_too_late = 0;
  for (const CsvSeries& series : part.series) {
    const int64_t first = series.rows.begin, num_rows = num_rows_of(series);
    const int64_t num_others = num_rows - num_for_test(num_rows, request);
    const FoldBlock block = fold_block(num_others, request);
    const bool is_in_fold = block.begin >= request.least_train;
    num_too_late += !is_in_fold;
    if (is_in_fold) append({first, first + block.begin}, all.train);
    if (is_in_fold) append({first + block.begin, first + block.begin + block.size}, all.valid);
    if (num_others >= request.least_train) append({first + num_others, series.rows.end}, all.test);
  }
  if (num_too_late > 0)
    notes.push_back(
        fmt::format("{} of {} series have too few rows before their validation part of fold {}, and are not "
                    "in this fold",
                    format_count(num_too_late), format_count(std::ssize(part.series)), request.fold));
  return all;
}

}  // namespace rnnlab
