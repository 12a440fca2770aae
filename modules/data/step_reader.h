// SPDX-License-Identifier: Apache-2.0
// Reads the rows of growing series one at a time, each as the next step that a trained model reads. A row is a line of
// CSV: of a table with the columns of training, or of arrays with one number for each feature. It is filled, scaled and
// checked as predict does it for a file, by the values that training fitted; what that needs of the rows before it is
// the past of its series. What needs rows that have not arrived is refused by why_not_streamed().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv_part.h"
#include "data/csv_scales.h"
#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// What the next row of a series needs of the rows before it.
struct SeriesPast {
  std::vector<double> values;  // the last known value of each column, NaN if there was none; empty before the first row
  std::vector<int64_t> times;  // of the last rows, in microseconds since 1970, for the usual step in time
};

// A row whose columns are read, but not yet in its series.
struct StreamRow {
  std::string series;           // "" without data.group
  std::vector<std::string> id;  // cells of StepReader::id_names()
  CsvPart part;
};

struct StreamStep {
  Samples samples;  // one sample of one step, without targets
  SeriesPast past;  // after this row
  std::vector<std::string> notes;
  bool begins_anew = false;  // whether the row follows a gap in time that ends its series (data.gaps: split)
};

// Finds where rows end whose lines arrive one at a time, because a cell in quotes may have line breaks. A quote opens
// only where a cell begins, so that a misplaced one is in a row that ends with its line, which parse_csv refuses. Each
// line is looked at once.
class RowEnds {
 public:
  explicit RowEnds(char delimiter) : delimiter_(delimiter) {}

  // Returns whether the row ends with this line, which has no line break. The next line then begins a row.
  bool ends_with(std::string_view line);

 private:
  enum class Place { kRowBegin, kCellBegin, kPlain, kQuoted, kAfterQuote, kMisplaced };

  Place after(char c) const;

  char delimiter_;
  Place place_ = Place::kRowBegin;
};

// Returns why a model that was trained so cannot read its rows one at a time, with what to do if something can be done;
// or "".
std::string why_not_streamed(const DataSettings& settings, const FittedData& fitted);

class StepReader {
 public:
  // Requires that why_not_streamed() has no reason. Both arguments must outlive the reader; `name` is that of the
  // source of the rows, for messages.
  StepReader(const DataSettings& settings, const FittedData& fitted, std::string name);

  // Whether the first line has the names of the columns.
  bool has_header() const { return is_table_ && settings_.header; }
  // `line` is its number. Throws UserError kData if the text is not one row.
  void set_header(std::string text, int64_t line);

  // Whether a row is one cell, so that a blank line may be a missing value. Without a header the first row tells.
  bool has_one_column() const { return num_columns_ == 1; }

  CsvOptions options() const;

  std::vector<std::string> id_names() const;
  size_t num_values() const;  // of SeriesPast::values

  // Throws UserError kData, with the number of the line, for a row that predict would refuse in a file, and for a text
  // that is not one row.
  StreamRow read(const std::string& text, int64_t line);

  // Returns the step of a row after those of its series. Throws UserError kData.
  StreamStep step(StreamRow row, const SeriesPast& past) const;

 private:
  CsvTable one_row(const std::string& header, const std::string& text, int64_t line, CsvOptions options) const;
  CsvPart part_of_table(CsvTable table) const;
  CsvPart part_of_array(const CsvTable& table) const;
  Samples sample_of_table(CsvPart& part) const;
  Samples sample_of_array(const CsvPart& part) const;

  const DataSettings& settings_;
  const FittedData& fitted_;
  std::string name_;
  bool is_table_;
  CsvLayout layout_;
  LocalScales local_;
  std::string header_;
  int64_t num_columns_;  // 0 before they are known
};

}  // namespace rnnlab
