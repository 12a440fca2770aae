// SPDX-License-Identifier: Apache-2.0
// How to train on the table of a CSV file, guessed from its columns for `data inspect`: what to predict from what, and
// the lines of an experiment that do so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/inspect.h"
#include "data/inspect_series.h"
#include "data/readers/csv.h"
#include "data/readers/times.h"

namespace rnnlab {

struct ColumnInspection {
  std::string name;
  int64_t place = 0;  // in the table
  int64_t num_numbers = 0;
  int64_t num_missing = 0;
  int64_t num_texts = 0;           // neither number nor missing
  int64_t num_booleans = 0;        // of the texts: true and false
  int64_t num_decimal_commas = 0;  // of the texts: numbers written as 1,5 in a file that also has 1.5
  int64_t num_integers = 0;        // of the numbers
  int64_t num_like_thousands = 0;  // of the numbers: written as 1.326 or 12.500, with the decimal mark of the file
  int64_t num_below_thousand = 0;  // of the numbers: integers of at most three digits, such as 998
  std::string like_thousands;      // the first number that is written as 1.326
  NumberSummary numbers;
  Moments likely_values;                              // the numbers except likely placeholders
  std::map<std::string, int64_t> placeholders = {};   // of the numbers: such as -999, which may mean a missing value
  std::set<std::string> texts;                        // at most kMostClasses + 1 texts
  std::set<std::string> values;                       // numbers and texts, at most kMostClasses + 1
  std::map<std::string, int64_t> missing_words = {};  // of the missing values: those that are not empty cells
  std::vector<std::string> alike = {};  // of the values: the first group of those that differ only in their spelling
  bool numbers_rows = false;            // whether it is an index
  bool is_nameless_and_empty = false;   // whether it is what a delimiter at the end of each line makes
  std::optional<ColumnTimes> times = {};

  // Returns the times of the rows, or nullptr if a cell is not a time.
  const std::vector<int64_t>* all_times() const { return times && !times->wrong_row ? &times->times : nullptr; }

  // Returns whether the column is one of dates or times, and not of numbers that may be years.
  bool has_times() const { return all_times() != nullptr && (times->are_hardly_inputs || num_numbers == 0); }

  // Returns whether the column holds numbers, or true and false, and at most as many missing values.
  bool is_numeric() const {
    return num_numbers + num_booleans > 0 && num_texts == (num_numbers > 0 ? 0 : num_booleans) &&
           num_missing <= num_numbers + num_booleans;
  }

  // Returns whether the column may be an input.
  bool may_be_input() const { return is_numeric() && !numbers_rows && !has_times(); }

  // Returns whether the column holds texts that repeat, or few integers that repeat often.
  bool is_label() const;

  // Returns whether all numbers are written as numbers with a mark between thousands would be: 998, 1.326, 12.500.
  bool is_like_thousands() const {
    return num_like_thousands >= 2 && num_like_thousands + num_below_thousand == num_numbers;
  }
};

// The times of the rows of a table, and the steps between them in all series together.
struct TimeInspection {
  std::string column;
  std::string group;        // column of the series; "" for one series
  std::string first, last;  // cells of the earliest and the latest row
  TimeSteps steps;
  bool fits_windows = true;  // whether enough windows cross no gap

  bool is_in_order() const { return steps.num_backwards == 0 && steps.num_repeated == 0 && steps.is_regular(); }
};

// The plan for predicting a target. If only the target is numeric, a series of its earlier values is the input.
struct Plan {
  const ColumnInspection* target = nullptr;
  std::vector<const ColumnInspection*> features = {};
  bool names_features = false;  // whether the settings must list the features, because some columns are left out
  bool is_classification = false;
  int64_t window = 0;                       // of the settings; 0 if each row is a sample
  double valid_fraction = 0;                // of the settings; 0: their default
  bool has_validation = true;               // whether the rows are enough for validation
  const ColumnInspection* time = nullptr;   // the column with the times of a series, if there is one
  const ColumnInspection* group = nullptr;  // the column that names the series of a row, if there are several
  std::optional<TimeInspection> times = {};
  SeriesAdvice advice = {};           // of a series
  bool has_unreadable_times = false;  // whether some of the times are not times
  bool has_padding = false;           // whether a missing value is most likely the end of a shorter series
  bool begins_with_missing = false;   // whether a series begins with a missing value

  bool is_possible() const { return !features.empty(); }
  bool has_missing() const;
  // Returns the words that the target has as classes, although they mean a missing value by default.
  std::vector<std::string> words_as_classes() const;
};

// `path` is the path as the user wrote it; `columns` are all columns of `table`, and outlive the plan.
Plan make_plan(const std::string& path, const CsvTable& table, const std::vector<ColumnInspection>& columns);

bool is_feature(const Plan& plan, const ColumnInspection* column);

// Returns the column with times, or nullptr. It need not be one whose times can be read.
const ColumnInspection* find_time(const std::vector<ColumnInspection>& columns);

// Returns the target of a series: the first column of numbers that is not a part of the time; or nullptr.
const ColumnInspection* choose_series_target(const std::vector<ColumnInspection>& columns,
                                             const ColumnInspection* group = nullptr);

int64_t usual_window(int64_t num_rows);

// Returns the lines of an experiment; `plan` must be possible.
std::vector<std::string> yaml_for(const std::string& path, const CsvTable& table, const Plan& plan);

// Says how to train on a CSV table: the lines of an experiment that run unchanged, and hints about obstacles.
struct TableAdvice {
  std::vector<std::string> yaml;  // empty if there is no possible target or no possible input
  std::vector<std::string> hints;
  std::optional<TimeInspection> times;
};

// `columns` are all columns of `table`.
TableAdvice advise(const std::string& path, const CsvTable& table, const std::vector<ColumnInspection>& columns);

}  // namespace rnnlab
