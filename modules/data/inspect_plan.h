// SPDX-License-Identifier: Apache-2.0
// How to train on the table of a CSV file, guessed from its columns for `data inspect`: what to predict from what, and
// the lines of an experiment that do so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/inspect.h"
#include "data/readers/csv.h"

namespace rnnlab {

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
  bool has_unreadable_times = false;  // whether some of the times are not times
  bool has_padding = false;           // whether a missing value is most likely the end of a shorter series
  bool begins_with_missing = false;   // whether a series begins with a missing value

  bool is_possible() const { return !features.empty(); }
  bool has_missing() const;
  // Returns the words that the target has as classes, although they mean a missing value by default.
  std::vector<std::string> words_as_classes() const;
};

// `path` is the path as the user wrote it; `columns` are all columns of `table`, and outlive the plan.
Plan make_plan(const std::string& path, const Table& table, const std::vector<ColumnInspection>& columns);

bool is_feature(const Plan& plan, const ColumnInspection* column);

// Returns the column with times, or nullptr. It need not be one whose times can be read.
const ColumnInspection* find_time(const Table& table, const std::vector<ColumnInspection>& columns);

// Returns the target of a series: the first column of numbers that is not a part of the time; or nullptr.
const ColumnInspection* choose_series_target(const std::vector<ColumnInspection>& columns,
                                             const ColumnInspection* group = nullptr);

int64_t usual_window(int64_t num_rows);

// Returns the lines of an experiment; `plan` must be possible.
std::vector<std::string> yaml_for(const std::string& path, const Table& table, const Plan& plan);

// Says how to train on a CSV table: the lines of an experiment that run unchanged, and hints about obstacles.
struct TableAdvice {
  std::vector<std::string> yaml;  // empty if there is no possible target or no possible input
  std::vector<std::string> hints;
};

// Sets content.time, too. `content` has all columns of `table`.
TableAdvice advise(const std::string& path, const Table& table, TableInspection& content);

}  // namespace rnnlab
