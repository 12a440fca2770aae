// SPDX-License-Identifier: Apache-2.0
// The columns of a CSV file that an experiment uses, typed and checked against its task, before they are split and
// scaled; and the check of the settings of CSV files, before a file is read. Rows keep their numbers in the file, so
// that messages can name lines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/csv_features.h"
#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/load_dataset.h"
#include "data/readers/csv.h"
#include "data/readers/times.h"
#include "data/windows.h"

namespace rnnlab {

// Checks the settings of the source csv against each other, before any file is read (csv_checks.cpp). Complains about
// each contradiction, with the keys that are part of it and what to do. What only a file can show, such as the names of
// its columns, the functions below check.
void check_csv(const DataSettings& settings, config::Checker& checker);

// Returns how the settings say that files are written.
CsvOptions csv_options(const DataSettings& settings);

// The layout that another file must have to be read like the training part.
struct CsvLayout {
  std::vector<std::string> features;     // columns, in order
  std::vector<std::string> labels;       // of the classes
  std::optional<std::string> time = {};  // FittedData::time
  std::optional<DateOrder> order = {};   // of its dates
};

CsvLayout layout_of(const FittedData& fitted);  // of the training part

// Rows of one series, as a range of CsvPart's rows.
struct CsvSeries {
  std::string name;  // "" without data.group
  RowRange rows;
  std::vector<int64_t> future_rows = {};  // of the table, after the end: only columns of data.known have values there
  std::vector<int64_t> rows_beyond_gap = {};  // such rows of the table behind a gap in time, which nothing reads

  std::optional<int64_t> known_end = {};  // the first row of which inputs would lack what they need to know ahead

  // Returns whether what inputs need to know ahead is known up to this row, which may lie after the end.
  bool is_known_until(int64_t row) const { return !known_end || row < *known_end; }
};

// With data.group the rows are in the order of the series, and within a series in the order of the file, or of time.
struct CsvPart {
  CsvTable table;
  std::vector<int64_t> file_rows;       // the row of the file for each row, or kNoRow; empty if they are equal
  std::vector<int64_t> times;           // of the rows, if data.gaps inserts some: microseconds since 1970
  std::vector<CsvSeries> series;        // at least one; together they have all rows
  std::vector<NumericColumn> features;  // NaN if a value is missing, until fill_missing() fills it
  std::vector<NumericColumn> known;     // of data.known, in the rows of the table
  std::vector<NumericColumn> targets;   // for regression and binary; NaN if a value is missing, whatever the policy
  std::vector<int64_t> classes;         // for classification: indices into labels, or -1
  std::vector<std::string> labels;
  Targets wanted = Targets::kRequired;  // kIfPresent: a missing target is never refused
  std::optional<std::string> time;      // FittedData::time
  std::optional<DateOrder> order = {};  // of its dates, as ColumnTimes::order
  bool is_one_of_many = false;          // whether more rows follow, so that these alone do not tell what a file lacks
  bool is_of_old_run = false;           // whether it is read for a run of a version that did not look at times
  std::vector<int64_t> breaks;          // ascending: rows that follow a gap, which no window crosses
  std::vector<std::string> notes;       // about what was left out, sorted or read in a special way

  int64_t num_rows() const { return file_rows.empty() ? table.num_rows() : std::ssize(file_rows); }

  std::vector<int64_t> complete_rows() const;         // rows that have all features and all required targets
  bool has_break(int64_t first, int64_t last) const;  // whether a row after `first`, up to `last`, follows a gap
  int64_t table_row(int64_t row) const;               // the row of the table, or kNoRow for one that is inserted
  std::vector<int64_t> table_rows(const std::vector<int64_t>& rows) const;  // without those that are inserted
  CsvLayout layout() const;
  bool has_targets() const { return !targets.empty() || !classes.empty(); }
  const CsvSeries& series_of(int64_t row) const;
  int64_t num_missing() const;  // cells of features
};

// `like` is the layout of the training part, which every other file must have; nullptr for the training part itself.
// With Targets::kIfPresent the target columns may be missing from the file. Throws UserError kData if a column (also of
// data.id) is missing, a cell is not a number (with its line), a value is missing and data.missing is error, a number
// exceeds float32, or a binary target is outside 0 to 1.
CsvPart read_csv_part(CsvTable table, const DataSettings& settings, const CsvLayout* like,
                      Targets wanted = Targets::kRequired);

// Returns the mean of each column over the values that the file has in these rows, before fill_missing(). A column
// without a value in these rows is not in the map.
std::map<std::string, double> column_means(const CsvPart& part, const std::vector<int64_t>& rows);

// Returns the mean of a column. Throws UserError kData if the training part has none.
double mean_of_column(const std::map<std::string, double>& means, const std::string& name, const std::string& path);

// Fills missing features by the policy: `means` are those of the training part. With kDrop they stay missing. Throws
// UserError kData if a column has no mean, or if no row of the series is before a missing value.
void fill_missing(CsvPart& part, MissingPolicy policy, const std::map<std::string, double>& means);

// Returns the values that the columns of data.categories have in these rows, each once for all of its spellings,
// which a note names. Missing values are left out. Throws UserError kData if a column has none.
std::vector<CategoryColumn> categories_in(CsvPart& part, const std::vector<int64_t>& rows,
                                          const DataSettings& settings);

// Adds the columns of categories behind the features, as numbers. A cell with another value than these, or none,
// becomes 0, and a note counts such cells. Throws UserError kData if no cell of a column has one of these values, or if
// a value is missing and data.missing is error.
void add_categories(CsvPart& part, const std::vector<CategoryColumn>& categories, const DataSettings& settings);

// The functions below, and CsvPart::complete_rows(), are in csv_windows.cpp.

// Returns windows_in, or all_windows_in, of each series that has rows in `rows`, which are ascending. Series that are
// too short for a window have no samples and are counted, and so are windows that cross a break. With data.missing:
// drop, windows that have a row of which a feature is missing are left out and counted. Throws UserError kData if no
// window is left.
enum class LastWindows { kWithTargets, kAll };
struct SeriesWindows {
  Windows windows;
  int64_t num_series = 0;
  int64_t num_too_short = 0;
  int64_t num_with_gaps = 0;      // windows
  int64_t num_across_breaks = 0;  // windows
  int64_t num_beyond_known = 0;   // windows
};
SeriesWindows windows_of_series(const CsvPart& part, const std::vector<int64_t>& rows, const DataSettings& settings,
                                LastWindows last, const std::string& name);

// Returns the sequences of all rows, for data.target_per: step: data.group or data.window ends a sequence, and with
// data.missing: drop a row of which a feature is missing, which is in no sequence.
Windows sequences_of(const CsvPart& part, const DataSettings& settings);

// Returns the rows of a fold (split.h) of each series by itself, for a request that counts rows; csv_folds.cpp. A
// series that begins so late that it has too few rows before its block is not in the fold, and a note counts such
// series: to train on it would be to train on rows that are later than those of validation. Throws UserError kData if
// no series has rows for all folds.
RowSplit fold_of_each_series(const CsvPart& part, const SplitRequest& request, std::vector<std::string>& notes);

// The functions below (csv_rows.cpp) say which row of a CSV file the prediction of each sample is for, and why the
// remaining rows have no sample. A row is identified by its number in the file and by the columns of data.id.

// Returns one row for each prediction, in the order of the samples. The row of a window is the row of its first target,
// which may lie after the end of the file; with data.group, a row after the end of its series has the number 0.
FileRows rows_of_samples(const CsvPart& part, const Windows& windows, const DataSettings& settings);

// Returns every row of the file, then the forecast rows after its end or after the ends of its series.
FileRows rows_of_file(const CsvPart& part, const Windows& windows, const DataSettings& settings);

}  // namespace rnnlab
