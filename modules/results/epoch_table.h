// SPDX-License-Identifier: Apache-2.0
// Shows numbers of epochs to people: the table of the log, which grows line by line, and the metrics of a comparison.
// All numbers of a column have one unit and one number of decimals, so that their points are aligned.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "results/epoch_row.h"

namespace rnnlab {

// Holds how a column shows its numbers.
struct ColumnFormat {
  std::string heading;  // with the unit, if the column has one: "train ms"
  double factor = 1;    // the shown number is the value times this factor
  int decimals = 0;
};

// Returns the format for a column with these values: the unit that fits the smallest of them, and enough decimals to
// show about four of its digits. Values that are zero or not finite do not count.
ColumnFormat column_format(NumberKind kind, const std::string& heading, std::span<const double> values);
inline ColumnFormat column_format(const EpochColumn& column, std::span<const double> values) {
  return column_format(column.kind, column.heading, values);
}

// Returns "0.1234", "17,301", "nan" without a sign, "inf" or "-inf". A text of more than `width` columns loses
// decimals, and becomes "1.234e+30" if the integer part does not fit either.
std::string number_text(const ColumnFormat& format, double value, size_t width = 15);

enum class Validation { kNo, kYes };

// Formats the rows of a training run as a table that grows line by line. Formats and widths are fixed by the first row.
// Columns have an order of importance, which begins with the metrics of the task; those on the right that do not fit
// into the width are left out, because epochs.csv has all of them. Warm-up epochs are marked.
class EpochTable {
 public:
  // `first` determines the columns, for a terminal with `width` columns. With `validation` the columns of the
  // validation are there, also if `first` was cut short before its validation.
  EpochTable(const EpochRow& first, size_t width, Validation validation);

  std::string header() const;                                                 // without a line end, like the lines
  std::string line(const EpochRow& row, const std::string& mark = "") const;  // ends in "(mark)" or "(warm-up)"

 private:
  struct Column {
    const EpochColumn* values;
    ColumnFormat format;
    size_t width;
  };

  static Column make_column(const EpochColumn& values, const EpochRow& first);

  std::vector<Column> columns_;
};

}  // namespace rnnlab
