// The columns that an experiment asks of a CSV file, typed and held against its task, before they are split and scaled.
// Rows keep the numbers that they have in the file, so that messages can name lines.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/load_dataset.h"
#include "data/readers/csv.h"

namespace rnnlab {

// Rows of numbers -> samples: each row by itself, or windows that slide over a series. Pure functions on columns, which
// know neither files nor scaling.

// Columns of numbers, all equally long; row r of the file is item r.
using Columns = std::vector<std::vector<double>>;

// Rows of one part and, for each sample, where its inputs begin and which row holds its target.
struct Windows {
  int64_t window = 0;           // 0: every row is a sample
  std::vector<int64_t> first;   // first row of the inputs
  std::vector<int64_t> target;  // row of the target, or kNoRow
};

inline constexpr int64_t kNoRow = -1;  // beyond the end of the series

// The samples that lie wholly in `rows`, which follow one another in the file when window > 0. UserError kData names
// `part` where there is none.
Windows windows_in(const std::vector<int64_t>& rows, int64_t window, int64_t horizon, const std::string& part);

// The same with the windows whose target is still to come.
Windows all_windows_in(const std::vector<int64_t>& rows, int64_t window, int64_t horizon, const std::string& part);

// Window 0: (N, columns, 1), the row's values one after the other. Else (N, window, columns).
at::Tensor gather_inputs(const Columns& columns, const Windows& windows);

// (N, columns) float32; NaN where there is no row.
at::Tensor gather_values(const Columns& columns, const Windows& windows);

// (N) int64; -1 where there is no row.
at::Tensor gather_classes(const std::vector<int64_t>& classes, const Windows& windows);

// What another file must have to be read as the training part was.
struct CsvLayout {
  std::vector<std::string> features;  // columns, in order
  std::vector<std::string> labels;    // of the classes
};

struct CsvPart {
  Table table;
  std::vector<NumericColumn> features;  // NaN where a value is missing and the policy is kDrop or kMean
  std::vector<NumericColumn> targets;   // for regression and binary
  std::vector<int64_t> classes;         // for classification: indices into labels
  std::vector<std::string> labels;
  Targets wanted = Targets::kRequired;  // kWhereThere: a missing target is unknown, and the policy does not apply to it

  std::vector<int64_t> complete_rows() const;  // those that lack no feature and no required target
  CsvLayout layout() const;
  bool has_targets() const { return !targets.empty() || !classes.empty(); }
  int64_t num_missing() const;  // cells that the policy applies to; a series' target is among its features too
};

// As data.task says; auto is regression for a series and classification for rows that stand alone.
Task csv_task(const DataSettings& settings);

// `like` is the layout of the training part, which any other file must have; none for the training part itself. With
// Targets::kWhereThere a file may have none of the target columns.
// UserError kData: no such column (of data.id too), a cell that is no number (by line), a number beyond float32, a
// binary target outside 0 to 1.
CsvPart read_csv_part(Table table, const DataSettings& settings, const CsvLayout* like,
                      Targets wanted = Targets::kRequired);

// The mean of each column over the values that the file has in these rows, whatever the policy made of missing ones. A
// column without a value in these rows has no mean.
std::map<std::string, double> column_means(const CsvPart& part, const std::vector<int64_t>& rows);

// Fills what is missing by the means of the training part. UserError kData where a column has none.
void fill_with_means(CsvPart& part, const std::map<std::string, double>& means);

// Which row of a CSV file each sample's prediction is for, and why the other rows of the file have no sample. Rows are
// told by their number in the file and by the columns of data.id.

// One row for each sample, in the order of the samples. The row of a window is that of its target, which may lie beyond
// the end of the file.
FileRows rows_of_samples(const CsvPart& part, const Windows& windows, const DataSettings& settings);

// Every row of the file in its order, then the rows beyond its end that are forecast. The samples are in the order of
// the file.
FileRows rows_of_file(const CsvPart& part, const Windows& windows, const DataSettings& settings);

}  // namespace rnnlab
