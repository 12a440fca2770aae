// Typed columns of a CSV table: numbers with a policy for missing values, and classes. Spaces around a cell do not
// count. A missing value is an empty cell or one of NA, NaN, null and ? in any case of letters.
#pragma once

#include <span>

#include "data/readers/csv.h"

namespace rnnlab {

enum class MissingPolicy {
  kError,     // refuse the file
  kDrop,      // leave NaN; the caller drops every row that complete_rows() does not name
  kPrevious,  // the value of the row before
  kMean,      // the mean of the column
  kZero,
};

// Of a cell without the spaces around it.
bool is_missing(std::string_view cell);
bool has_decimal_comma(std::string_view cell);  // "1,5", which some programs write for one and a half
bool is_text(std::string_view cell);            // neither missing nor a number, however it is written

struct NumericColumn {
  std::string name;
  std::vector<double> values;  // finite; NaN only where the policy is kDrop
  int64_t num_missing = 0;     // before the policy was applied
};

// UserError kData with the cell's line: no such column, a cell that is no finite number, a missing value that the
// policy cannot fill. kMean takes the mean over the rows `fit_rows` (all rows where it is empty), so that it can be
// fitted on the training part alone.
NumericColumn numeric_column(const Table& table, std::string_view name, MissingPolicy policy,
                             std::span<const int64_t> fit_rows = {});

// The rows that have a value in every column, in order. All columns are equally long.
std::vector<int64_t> complete_rows(std::span<const NumericColumn> columns);

struct ClassColumn {
  std::vector<int64_t> classes;     // indices into the labels
  std::vector<std::string> labels;  // sorted: as numbers where all are integers, else by their bytes
};

// UserError kData: no such column, a missing label. Integers are one label however they are written (+3 and 3).
ClassColumn class_column(const Table& table, std::string_view name);

enum class MissingLabels { kRefused, kUnknown };  // kUnknown: class -1

// The same for another part of the data, whose classes must be among `labels`. UserError kData names the cell's line.
std::vector<int64_t> class_column_as(const Table& table, std::string_view name, const std::vector<std::string>& labels,
                                     MissingLabels missing = MissingLabels::kRefused);

}  // namespace rnnlab
