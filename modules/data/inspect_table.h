// What `data inspect` counts in a column of a CSV table, and what it concludes: whether it can be an input, or a target
// of which kind. A guess from the values alone.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/inspect_formats.h"
#include "data/readers/csv.h"

namespace rnnlab {

struct ColumnProfile {
  std::string name;
  int64_t num_numbers = 0;
  int64_t num_missing = 0;
  int64_t num_texts = 0;           // neither number nor missing
  int64_t num_decimal_commas = 0;  // of the texts: numbers written as 1,5
  int64_t num_integers = 0;        // of the numbers
  NumberSummary numbers;
  std::set<std::string> texts;   // at most kMostClasses + 1 of them
  std::set<std::string> values;  // of both kinds, as many

  // Numbers, with some of them missing at most.
  bool is_numeric() const { return num_numbers > 0 && num_texts == 0 && num_missing <= num_numbers; }

  // Texts that repeat, or few integers that repeat often.
  bool is_label() const;
};

ColumnProfile profile_column(const Table& table, int64_t column);

// How to train on a CSV table: the lines of an experiment that run as they are, and what stands in the way. Guessed
// from the columns; the target is the last column that can be one.

struct TableAdvice {
  std::vector<std::string> yaml;  // empty where no column can be a target, or an input
  std::vector<std::string> hints;
};

// `path` is as the user wrote it; `columns` are all columns of `table`.
TableAdvice advise(const std::string& path, const Table& table, const std::vector<ColumnProfile>& columns);

}  // namespace rnnlab
