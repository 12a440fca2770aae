// Counts the values of a column of a CSV table for `data inspect`, and guesses from these values whether the column can
// be an input, and which kind of target it can be.
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
  std::set<std::string> texts;   // at most kMostClasses + 1 texts
  std::set<std::string> values;  // numbers and texts, at most kMostClasses + 1

  // Returns whether the column holds numbers, and at most as many missing values.
  bool is_numeric() const { return num_numbers > 0 && num_texts == 0 && num_missing <= num_numbers; }

  // Returns whether the column holds texts that repeat, or few integers that repeat often.
  bool is_label() const;
};

ColumnProfile profile_column(const Table& table, int64_t column);

// Says how to train on a CSV table: the lines of an experiment that run unchanged, and hints about obstacles. Both are
// guessed from the columns. The target is the last possible column.
struct TableAdvice {
  std::vector<std::string> yaml;  // empty if there is no possible target or no possible input
  std::vector<std::string> hints;
};

// `path` is the path as the user wrote it; `columns` are all columns of `table`.
TableAdvice advise(const std::string& path, const Table& table, const std::vector<ColumnProfile>& columns);

}  // namespace rnnlab
