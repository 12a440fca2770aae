// SPDX-License-Identifier: Apache-2.0
// The results of one `rnnlab bench`: the source of its table, CSV and JSON, and the baseline of later comparisons.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/terminal.h"
#include "results/environment.h"
#include "results/process_times.h"
#include "results/table.h"
#include "runs/bench/backend.h"
#include "runs/bench/bench_settings.h"

namespace rnnlab {

// Statistics from samples: the times of the three passes and of their differences, with intervals. A process gives
// one number, the median of its samples. Several processes give the mean of their numbers, with the interval of this
// mean (results/process_times.h). The interval of one process describes only its samples, not a different process, and
// is their range for fewer than 6 samples. All functions are pure.

// The seconds of one iteration in one process, by round, for the passes of backend.h; equal numbers of rounds.
struct PassSamples {
  std::vector<double> forward;
  std::vector<double> forward_data;
  std::vector<double> all;

  RNNLAB_FIELDS(forward, forward_data, all)
};

// The times of the parts of a layer's training step, in seconds.
struct PartTimes {
  Estimate forward;
  Estimate backward_data;     // forward_data - forward
  Estimate backward_weights;  // all - forward_data
  Estimate total;             // all

  RNNLAB_FIELDS(forward, backward_data, backward_weights, total)
};

// The rates of one part of a step, computed from its median time.
struct PartRate {
  double microseconds_per_layer_step = 0;
  double gflops = 0;           // 1e9 operations a second
  double gemm_share = 0;       // part of the ceiling's rate; 1 is all of it
  double least_bytes = 0;      // see least_bytes in bench_settings.h
  double bandwidth_share = 0;  // part of the ceiling's copy rate, for these bytes

  RNNLAB_FIELDS(microseconds_per_layer_step, gflops, gemm_share, least_bytes, bandwidth_share)
};

// A part whose interval contains zero, which is possible for a difference, has no rate.
struct PartRates {
  std::optional<PartRate> forward;
  std::optional<PartRate> backward_data;
  std::optional<PartRate> backward_weights;
  std::optional<PartRate> total;

  RNNLAB_FIELDS(forward, backward_data, backward_weights, total)
};

// The four parts by name, in order, for code that prints or compares all of them.
struct Part {
  const char* name;  // "backward_data"
  Estimate PartTimes::*seconds;
  std::optional<PartRate> PartRates::*rate;
  bool is_difference = false;  // of the times of two passes, so it may be negative
};
inline constexpr std::array<Part, 4> kParts = {{
    {"forward", &PartTimes::forward, &PartRates::forward},
    {"backward_data", &PartTimes::backward_data, &PartRates::backward_data, true},
    {"backward_weights", &PartTimes::backward_weights, &PartRates::backward_weights, true},
    {"total", &PartTimes::total, &PartRates::total},
}};

// Returns the times of at least one process. Means over processes are geometric for times of passes,
// and arithmetic for differences between two passes.
PartTimes part_times(const std::vector<PassSamples>& processes);

// Returns the number of each of kParts in each process.
std::array<std::vector<double>, kParts.size()> part_values(const std::vector<PassSamples>& processes);

// Returns how many times as fast as `base` the layer `own` was, by one pass. The i-th process of both sides is the
// same process, which measured both in turn. Both sides have the same number of processes, at least one.
Estimate speedup(const std::vector<PassSamples>& base, const std::vector<PassSamples>& own,
                 std::vector<double> PassSamples::*pass);

// Returns median(whole) - median(part) of one process, of any sign. Whole rounds are resampled (10,000 times, fixed
// seed), so that a slowdown of both samples of a round counts once: a percentile bootstrap (Efron and Tibshirani, 1993,
// chapter 13).
Estimate difference(const std::vector<double>& whole, const std::vector<double>& part);

// The key of a row. Names are text, because a file may come from a version with different layers.
struct RowKey {
  std::string layer;
  std::string device;  // "cpu", "cuda", "cuda1"
  std::string mode;
  std::string precision;
  std::string cell;
  std::string cudnn_algorithm;
  int64_t hidden_size = 0;
  int64_t batch_size = 0;
  int64_t num_steps = 0;
  int64_t num_layers = 0;
  int64_t input_size = 0;
  bool bidirectional = false;
  int64_t heads = 1;
  std::string persistent_form = {};  // "" if the layer may take any, or has none
  double starts = 0;

  bool operator==(const RowKey&) const = default;

  // Returns the layer's name, and its form if one was chosen: "persistent clusters".
  std::string layer_text() const { return persistent_form.empty() ? layer : layer + " " + persistent_form; }

  RNNLAB_FIELDS(layer, device, mode, precision, cell, cudnn_algorithm, hidden_size, batch_size, num_steps, num_layers,
                input_size, bidirectional, where_given(heads), where_given(persistent_form), where_given(starts))
};

// The measurement of a layer.
struct Measurement {
  PartTimes seconds;
  PartRates rates;
  std::optional<Estimate> speedup_forward;  // over the first layer of the list; nullopt if that layer was not measured
  std::optional<Estimate> speedup_total;
  std::vector<int64_t> iterations;  // iterations of a sample, by pass; of the first process
  PassSamples samples;              // of all processes, one after the other
  // The rounds in `samples` of each process; 0 if it could not measure. Empty: one process measured all.
  std::vector<int64_t> rounds_by_process;
  // The seconds of sampling the combination's layers, over all processes: elapsed, and computed by all threads.
  std::optional<double> wall_seconds, cpu_seconds;

  RNNLAB_FIELDS(seconds, rates, speedup_forward, speedup_total, iterations, samples, since<3>(rounds_by_process),
                since<3>(wall_seconds), since<3>(cpu_seconds))
};

struct BenchRow {
  RowKey key;
  std::string reason;  // why it was not measured, or ""
  std::optional<Measurement> measurement;
  std::string path;  // what ran; "" if it was not inspected
  std::vector<std::string> path_notes;
  std::vector<KernelUse> kernels;
  std::optional<int64_t> peak_memory_bytes;
  std::vector<Warning> notes;  // reasons to doubt the row

  RNNLAB_FIELDS(flattened(key), reason, measurement, path, path_notes, kernels, peak_memory_bytes, notes)
};

inline bool is_measured(const BenchRow& row) { return row.measurement.has_value(); }

struct BenchReport {
  int64_t schema_version = kFileVersion;
  Environment environment;
  std::string settings;  // as YAML
  std::vector<Warning> warnings;
  std::vector<Ceiling> ceilings;
  std::vector<BenchRow> rows;

  RNNLAB_FIELDS(schema_version, environment, settings, warnings, ceilings, rows)
};

RowKey row_key(LayerChoice layer, const std::string& device, const BenchCase& combination);

// Returns the rates for these times.
PartRates part_rates(const PartTimes& seconds, const BenchCase& combination, const Ceiling& ceiling);

// Set the times of the measured rows of one combination from their samples, and their gains over the first row, by the
// processes that measured both; then their rates.
void set_times(std::span<BenchRow> rows);
void set_rates(std::span<BenchRow> rows, const BenchCase& combination, const Ceiling& ceiling);

// Returns the ceiling of a device and a precision; null if it is not in the list.
const Ceiling* find_ceiling(const std::vector<Ceiling>& ceilings, const std::string& device,
                            const std::string& precision);

// Returns the samples of each process that measured the row.
std::vector<PassSamples> by_process(const Measurement& measurement);

// Writes the report as JSON, which read_report reads back to an equal report. Throws UserError kDevice.
void write_report(const std::string& file, const BenchReport& report);

// Convert a report to JSON on one line and back; `source` is the name of the text in messages.
std::string report_on_one_line(const BenchReport& report);
BenchReport report_from(const std::string& json, const std::string& source);

// Reads a report and checks its measurements: equal numbers of samples for all passes, at least one, all above 0, and
// in total as many as the rounds of its processes. Throws UserError kData with the file and the key.
BenchReport read_report(const std::string& file);

// ---- tables for people and CSV for programs (bench_report_text.cpp) ----

// A column of row keys for people; its cell is "" for the usual value. The columns are device, mode, precision, cell,
// cuDNN's algorithm, I, H, B, T, L, D, heads and starts, without the layer. The usual values are algorithm auto, I
// equal to H, D 1, one head and no starts.
struct KeyColumn : Column<RowKey> {
  std::string usual = "";  // text for the usual value, where it must be shown
};
const std::vector<KeyColumn>& key_columns();

template <class Rows>
std::vector<RowKey> keys_of(const Rows& rows) {
  std::vector<RowKey> keys;
  for (const auto& row : rows) keys.push_back(row.key);
  return keys;
}

// Returns the columns in which not all keys are equal.
std::vector<KeyColumn> varying_columns(const std::vector<RowKey>& keys);

// Returns the values of the columns that do not vary: "cuda graph fp32 lstm H 512 B 64 T 100". "" if there are no keys.
std::string shared_text(const std::vector<RowKey>& keys);

// Returns "naive" if no column varies, else "naive H 256 B 32".
std::string row_label(const RowKey& key, const std::vector<KeyColumn>& varying);

// Returns the first columns of a table of rows: what varies, and the layer.
template <class Row>
ColumnList<Row> columns_of_keys(const std::vector<RowKey>& keys) {
  ColumnList<Row> columns;
  for (const KeyColumn& column : varying_columns(keys))
    columns.emplace_back(
        column.heading, [column](const Row& row) { return column.cell(row.key); }, Align::kLeft);
  columns.emplace_back(
      "layer", [](const Row& row) { return row.key.layer_text(); }, Align::kLeft);
  return columns;
}

enum class TableWidth {
  kNarrow,  // times with the half width of their interval, microseconds a layer-step, rates and speed-ups
  kWide,    // and intervals, rates of the total, bytes, bandwidth, memory and the longest kernels
};

// Returns warnings, then the table, then the executed paths row by row, and the reasons for missing rows.
std::string report_text(const BenchReport& report, TableWidth width);

// These functions return the parts of report_text, for reports in different formats.
TextTable report_table(const BenchReport& report, TableWidth width);
std::vector<std::string> report_legend(const BenchReport& report);                   // explains the columns
std::vector<std::string> report_ceilings(const BenchReport& report);                 // highest rates of the devices
std::vector<std::string> report_paths(const BenchReport& report, TableWidth width);  // executed paths
std::vector<Warning> report_warnings(const BenchReport& report);  // reasons for missing rows, and reasons to doubt rows

// Returns one line for each row, without the samples and the environment. Absent values are empty.
std::string report_csv(const BenchReport& report);

}  // namespace rnnlab
