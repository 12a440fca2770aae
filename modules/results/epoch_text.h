// Epoch rows as text: columns of `epochs.csv`, lines of `epochs.jsonl`, and the table that the log prints.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/epoch_row.h"

namespace rnnlab {

// An epoch row as a line of epochs.csv or epochs.jsonl, and a line of epochs.csv as a row again. Pure text, no files.
// Numbers are the shortest that read back to the same value; absent is an empty CSV field and a JSON null; what is not
// finite is nan, inf or -inf in CSV and the same word as a string in JSON, which has no such numbers.

// This version's columns, then the others of the rows.
std::vector<std::string> epoch_csv_columns(std::span<const EpochRow> rows = {});

// What stands in a row's column; "" where it is absent.
std::string epoch_csv_cell(const EpochRow& row, const std::string& column);

// All with their line end.
std::string epoch_csv_header(const std::vector<std::string>& columns = epoch_csv_columns());
std::string epoch_csv_line(const EpochRow& row, const std::vector<std::string>& columns = epoch_csv_columns());
std::string epoch_jsonl_line(const EpochRow& row);

// The names in the first line of an epochs.csv.
std::vector<std::string> columns_in_header(std::string_view text);

// The rows of a whole epochs.csv, read by the names of the columns; `source` names it in messages. A column that every
// version had must be there, one that came later may be absent, and one that this version does not know is kept.
// Every line must be whole, and epochs must rise. UserError kData with `source:line`.
std::vector<EpochRow> parse_epochs_csv(std::string_view text, const std::string& source);

// The rows of a training run as a table that grows line by line on the console: widths are fixed when it starts,
// columns that the run does not have are left out, warm-up epochs are marked.

class EpochTable {
 public:
  // `first` decides which columns there are.
  explicit EpochTable(const EpochRow& first);

  std::string header() const;                                                 // without a line end, as the lines
  std::string line(const EpochRow& row, const std::string& mark = "") const;  // "(mark)" behind it, or "(warm-up)"

 private:
  std::vector<EpochColumn> columns_;
};

}  // namespace rnnlab
