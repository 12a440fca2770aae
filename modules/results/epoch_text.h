// An epoch row as a line of epochs.csv or epochs.jsonl, and a line of epochs.csv as a row again. Pure text, no files.
// Numbers are the shortest that read back to the same value; absent is an empty CSV field and a JSON null; what is not
// finite is nan, inf or -inf in CSV and the same word as a string in JSON, which has no such numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/epoch_row.h"

namespace rnnlab {

// All with their line end.
std::string epoch_csv_header();
std::string epoch_csv_line(const EpochRow& row);
std::string epoch_jsonl_line(const EpochRow& row);

// The rows of a whole epochs.csv; `source` names it in messages. Strict: the header must be ours, every line whole,
// epochs rising. UserError kData with `source:line`.
std::vector<EpochRow> parse_epochs_csv(std::string_view text, const std::string& source);

}  // namespace rnnlab
