// Converts epoch rows to text and back: columns of `epochs.csv`, lines of `epochs.jsonl`, and the table of the log.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/epoch_row.h"

namespace rnnlab {

// The functions are pure and do not access files. Each number is the shortest text that reads back to the same value.
// An absent value is an empty CSV field and a JSON null. A value that is not finite is nan, inf or -inf in CSV, and the
// same word as a string in JSON, because JSON does not have such numbers.

// Returns this version's columns, and then the unknown columns of the rows.
std::vector<std::string> epoch_csv_columns(std::span<const EpochRow> rows = {});

// Returns the text of a row's column; "" if the value is absent.
std::string epoch_csv_cell(const EpochRow& row, const std::string& column);

// These functions return a line with its line end.
std::string epoch_csv_header(const std::vector<std::string>& columns = epoch_csv_columns());
std::string epoch_csv_line(const EpochRow& row, const std::vector<std::string>& columns = epoch_csv_columns());
std::string epoch_jsonl_line(const EpochRow& row);

// Returns the names in the first line of an epochs.csv.
std::vector<std::string> columns_in_header(std::string_view text);

// Reads the rows of a whole epochs.csv by the names of the columns; `source` is the file's name in messages. A column
// that every version has is required, a later column may be absent, and an unknown column is kept. Every line must be
// complete, and epochs must increase. Throws UserError kData with `source:line`.
std::vector<EpochRow> parse_epochs_csv(std::string_view text, const std::string& source);

// Formats the rows of a training run as a table that grows line by line on the console. The widths are fixed at the
// start, columns that are absent in the first row are left out, and warm-up epochs are marked.
class EpochTable {
 public:
  // `first` determines the columns.
  explicit EpochTable(const EpochRow& first);

  std::string header() const;                                                 // without a line end, like the lines
  std::string line(const EpochRow& row, const std::string& mark = "") const;  // ends in "(mark)" or "(warm-up)"

 private:
  std::vector<EpochColumn> columns_;
};

}  // namespace rnnlab
