// SPDX-License-Identifier: Apache-2.0
// Defines the row of one logged epoch and the list of its columns, which determines epochs.csv, epochs.jsonl, the
// console's table (epoch_table.h), TensorBoard's curves, what several processes make of a column, and the reading of
// these files. A new column is a member of EpochRow and a line in the list. The names of the columns are a contract
// with the readers of the files. Later versions add columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "results/metrics.h"

namespace rnnlab {

// A value that was not measured is absent.
struct EpochRow {
  int64_t epoch = 0;  // from 1
  double train_loss = 0;
  std::optional<double> valid_loss = std::nullopt;
  MetricValues metrics = {};                           // other than the losses, by column: "valid_rmse"
  std::map<std::string, std::string> undefined = {};   // why a metric that the run asks for has no value, by column
  double learning_rate = 0;                            // at the epoch's last step
  std::optional<double> gradient_norm = std::nullopt;  // mean over the epoch's steps, before clipping
  double train_seconds = 0;  // from the first batch to the last step, with the device synchronised at both ends
  std::optional<double> valid_seconds = std::nullopt;
  double data_seconds = 0;  // the part of train_seconds spent waiting for batches
  double samples_per_second = 0;
  std::optional<int64_t> peak_memory_bytes = std::nullopt;
  bool warmup = false;                                  // not counted in medians
  std::optional<int64_t> skipped_steps = std::nullopt;  // steps whose gradients overflowed float16 under the loss scale
  std::optional<double> device_seconds = std::nullopt;  // the span of train_seconds by the GPU's own clock
  // The operating system and the GPU measure these values over the same span (base/system/counters.h).
  std::optional<double> cpu_seconds = std::nullopt;
  std::optional<double> boot_seconds = std::nullopt;
  std::optional<double> steal_seconds = std::nullopt;
  std::optional<double> throttled_seconds = std::nullopt;
  std::optional<int64_t> voluntary_switches = std::nullopt;
  std::optional<int64_t> forced_switches = std::nullopt;
  std::optional<double> gpu_joules = std::nullopt;
  std::optional<double> cpu_joules = std::nullopt;
  // These values exist for a run of several processes. The other times are then those of the slowest process.
  std::optional<double> exchange_seconds = std::nullopt;  // time of the slowest process in the exchange without overlap
  std::optional<double> slowest_process_seconds = std::nullopt;  // train_seconds outside of the exchange
  std::optional<double> fastest_process_seconds = std::nullopt;
  std::map<std::string, std::string> other_columns = {};  // columns of a later version or a user, by name
};

using EpochMember = std::variant<int64_t EpochRow::*, double EpochRow::*, bool EpochRow::*,
                                 std::optional<int64_t> EpochRow::*, std::optional<double> EpochRow::*>;

enum class ColumnRole {
  kLabel,       // says which epoch the row is of, or whether the epoch counts; TensorBoard has no curve of it
  kMetric,      // of losses or outputs; goes into the summary
  kTraining,    // of the steps: equal runs have equal values
  kMeasurement  // of time, memory or energy: equal runs have different values
};

// What a row of several processes has in a column, given the rows of all processes.
enum class OverRanks {
  kOwn,        // the value of the process itself: all have the same, or only that of the first process is logged
  kOfSlowest,  // the value of the process that spent the most time outside of the exchange
  kLargest,
  kSum  // nothing unless every process has a value
};

struct EpochColumn {
  std::string name;     // in the files
  std::string heading;  // in tables, without the unit; empty: not shown there
  NumberKind kind;
  ColumnRole role;
  std::optional<EpochMember> member;  // nothing: in EpochRow::metrics
  OverRanks over_ranks = OverRanks::kOwn;
  // In the console's table: the smaller, the more important, and further left. Columns with equal places stand in the
  // order of the list. 0: not in that table.
  int place = 0;
  bool is_on_request = false;  // only in the files of runs that ask for the metric
};

std::span<const EpochColumn> epoch_columns();

// Returns null if there is no such column.
const EpochColumn* find_column(std::string_view name);

// Returns the column's value as a number, or nothing if it is absent. A bool is 0 or 1.
std::optional<double> number_in(const EpochRow& row, const EpochColumn& column);

// Makes this number the column's value, or removes the value. A column that every row has keeps its value then.
void put_number(EpochRow& row, const EpochColumn& column, std::optional<double> number);

// Converts epoch rows to text and back: columns of `epochs.csv` and lines of `epochs.jsonl`.

// The functions are pure and do not access files. Each number is the shortest text that reads back to the same value.
// An absent value is an empty CSV field and a JSON null. A value that is not finite is nan, inf or -inf in CSV, and the
// same word as a string in JSON, because JSON does not have such numbers.

// Returns this version's columns, of those on request the ones of the rows, and then the unknown columns of the rows.
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

}  // namespace rnnlab
