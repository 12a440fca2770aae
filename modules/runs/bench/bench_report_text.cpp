// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "results/comparison_output.h"

namespace rnnlab {
namespace {

// Usual values are not shown.
std::string inputs(const RowKey& key) {
  return key.input_size == key.hidden_size ? "" : std::to_string(key.input_size);
}

std::string algorithm(const RowKey& key) { return key.cudnn_algorithm == "auto" ? "" : key.cudnn_algorithm; }

std::string directions(const RowKey& key) { return key.bidirectional ? "2" : ""; }

std::string heads(const RowKey& key) { return key.heads == 1 ? "" : fmt::format("{} heads", key.heads); }

std::string starts(const RowKey& key) { return key.starts == 0 ? "" : fmt::format("starts {}", key.starts); }

// Sizes are shown with their letter; words need no heading.
std::string with_heading(const KeyColumn& column, const RowKey& key) {
  const std::string text = column.cell(key);
  const bool is_size = column.heading.size() == 1;
  return is_size && !text.empty() ? column.heading + " " + text : text;
}

void add_part(std::vector<std::string>& parts, std::string part) {
  if (!part.empty()) parts.push_back(std::move(part));
}

}  // namespace

const std::vector<KeyColumn>& key_columns() {
  static const std::vector<KeyColumn> columns = {
      {{"device", &RowKey::device}},    {{"mode", &RowKey::mode}},          {{"precision", &RowKey::precision}},
      {{"cell", &RowKey::cell}},        {{"algorithm", algorithm}, "auto"}, {{"I", inputs}, "I = H"},
      {{"H", &RowKey::hidden_size}},    {{"B", &RowKey::batch_size}},       {{"T", &RowKey::num_steps}},
      {{"L", &RowKey::num_layers}},     {{"D", directions}, "D 1"},         {{"heads", heads}, "1 head"},
      {{"starts", starts}, "no starts"}};
  return columns;
}

std::vector<KeyColumn> varying_columns(const std::vector<RowKey>& keys) {
  std::vector<KeyColumn> columns;
  if (keys.empty()) return columns;
  for (const KeyColumn& column : key_columns())
    if (!is_equal_in_all(column, keys)) columns.push_back(column);
  return columns;
}

std::string shared_text(const std::vector<RowKey>& keys) {
  std::vector<std::string> parts;
  for (const KeyColumn& column : key_columns())
    if (is_equal_in_all(column, keys)) add_part(parts, with_heading(column, keys[0]));
  return join(parts, " ");
}

std::string row_label(const RowKey& key, const std::vector<KeyColumn>& varying) {
  std::vector<std::string> parts = {key.layer_text()};
  for (const KeyColumn& column : varying) add_part(parts, with_heading(column, key));
  return join(parts, " ");
}

namespace {

constexpr size_t kKernelsShown = 3;
constexpr double kWidestHalf = 0.5;  // of the value; beyond it the value says nothing

std::string milliseconds(double seconds) { return format_significant(seconds * 1e3, 4); }

// Returns the distance from the value to the farther end of its interval, divided by the value. Both ends are positive.
double half_width(const Estimate& seconds) {
  return std::max(seconds.high - seconds.value, seconds.value - seconds.low) / seconds.value;
}

bool contains_zero(const Estimate& seconds) { return seconds.low <= 0; }

bool is_negative(const Estimate& seconds) { return seconds.high <= 0; }

bool is_wide(const Estimate& seconds) { return !contains_zero(seconds) && half_width(seconds) > kWidestHalf; }

// Returns "12.81 ±0.3%" with the farther end of the interval; "12.81 wide" if the interval is too wide; "< 0.0455", the
// upper end, for a difference whose interval contains zero.
std::string with_half_width(const Estimate& seconds) {
  if (is_negative(seconds)) return "negative";
  if (contains_zero(seconds)) return "< " + milliseconds(seconds.high);
  if (is_wide(seconds)) return milliseconds(seconds.value) + " wide";
  return fmt::format("{} ±{:.1f}%", milliseconds(seconds.value), 100 * half_width(seconds));
}

std::string interval(const Estimate& seconds) { return interval_text(1e3 * seconds.low, 1e3 * seconds.high, 4); }

std::string gain_text(const Estimate& gain) {
  return format_significant(gain.value, 3) + (is_wide(gain) ? "x wide" : "x");
}

std::string gain_interval(const Estimate& gain) { return interval_text(gain.low, gain.high, 3); }

std::string three_digits(double value) { return format_significant(value, 3); }

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string bytes_text(double bytes) { return format_bytes(static_cast<int64_t>(bytes)); }

// The following functions return functions for columns, of a value that a row may lack.
auto time_of(const Part& part, std::string (*text)(const Estimate&)) {
  return [=](const BenchRow& row) { return row.measurement ? text(row.measurement->seconds.*part.seconds) : kNothing; };
}

auto rate_of(const Part& part, double PartRate::*value, std::string (*text)(double)) {
  return [=](const BenchRow& row) -> std::string {
    if (!row.measurement || !(row.measurement->rates.*part.rate)) return kNothing;
    return text(*(row.measurement->rates.*part.rate).*value);
  };
}

auto gain_of(std::optional<Estimate> Measurement::*gain, std::string (*text)(const Estimate&)) {
  return [=](const BenchRow& row) -> std::string {
    return row.measurement && *row.measurement.*gain ? text(*(*row.measurement.*gain)) : kNothing;
  };
}

std::string memory(const BenchRow& row) {
  return row.measurement && row.peak_memory_bytes ? format_bytes(*row.peak_memory_bytes) : kNothing;
}

const auto &kForward = kParts[0], &kData = kParts[1], &kWeights = kParts[2], &kTotal = kParts[3];

const ColumnList<BenchRow> kNarrowColumns = {
    {"forward ms", time_of(kForward, with_half_width)},
    {"bwd data ms", time_of(kData, with_half_width)},
    {"bwd weights ms", time_of(kWeights, with_half_width)},
    {"total ms", time_of(kTotal, with_half_width)},
    {"fwd us/ls", rate_of(kForward, &PartRate::microseconds_per_layer_step, three_digits)},
    {"bwd us/ls", rate_of(kData, &PartRate::microseconds_per_layer_step, three_digits)},
    {"fwd GFLOP/s", rate_of(kForward, &PartRate::gflops, three_digits)},
    {"% GEMM", rate_of(kForward, &PartRate::gemm_share, percent)},
    {"fwd gain", gain_of(&Measurement::speedup_forward, gain_text)},
    {"gain", gain_of(&Measurement::speedup_total, gain_text)}};

const ColumnList<BenchRow> kWideColumns = {{"forward 95 %", time_of(kForward, interval)},
                                           {"bwd data 95 %", time_of(kData, interval)},
                                           {"bwd weights 95 %", time_of(kWeights, interval)},
                                           {"total 95 %", time_of(kTotal, interval)},
                                           {"GFLOP/s", rate_of(kTotal, &PartRate::gflops, three_digits)},
                                           {"all % GEMM", rate_of(kTotal, &PartRate::gemm_share, percent)},
                                           {"fwd bytes", rate_of(kForward, &PartRate::least_bytes, bytes_text)},
                                           {"fwd % copy", rate_of(kForward, &PartRate::bandwidth_share, percent)},
                                           {"bytes", rate_of(kTotal, &PartRate::least_bytes, bytes_text)},
                                           {"% copy", rate_of(kTotal, &PartRate::bandwidth_share, percent)},
                                           {"memory", memory},
                                           {"fwd gain 95 %", gain_of(&Measurement::speedup_forward, gain_interval)},
                                           {"gain 95 %", gain_of(&Measurement::speedup_total, gain_interval)}};

std::string kernel_text(const KernelUse& kernel) {
  constexpr size_t kMostShown = 60;
  const std::string name = kernel.name.size() <= kMostShown ? kernel.name : kernel.name.substr(0, kMostShown) + "...";
  return fmt::format("{} x{} {}", name, kernel.count, format_seconds(kernel.seconds));
}

// Returns "" or a separate line.
std::string kernel_line(const BenchRow& row) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(kKernelsShown, row.kernels.size()); ++i) parts.push_back(kernel_text(row.kernels[i]));
  return parts.empty() ? "" : fmt::format("\n  longest: {}", join(parts, "; "));
}

using IsSo = bool (*)(const Estimate& number);

bool has_part(const BenchReport& report, IsSo is_so) {
  return std::ranges::any_of(report.rows, [&](const BenchRow& row) {
    return row.measurement &&
           std::ranges::any_of(kParts, [&](const Part& part) { return is_so(row.measurement->seconds.*part.seconds); });
  });
}

bool has_gain(const BenchReport& report, IsSo is_so) {
  return std::ranges::any_of(report.rows, [&](const BenchRow& row) {
    const auto is_its = [&](const std::optional<Estimate>& gain) { return gain && is_so(*gain); };
    return row.measurement && (is_its(row.measurement->speedup_forward) || is_its(row.measurement->speedup_total));
  });
}

// Returns the largest number of processes that measured a row; 0 if no row was measured. A row that fewer processes
// measured has a note.
size_t num_processes(const BenchReport& report) {
  size_t most = 0;
  for (const BenchRow& row : report.rows)
    if (row.measurement) most = std::max(most, by_process(*row.measurement).size());
  return most;
}

bool has_few_samples(const BenchReport& report) {
  constexpr size_t kFewest = 6;
  return std::ranges::any_of(report.rows, [](const BenchRow& row) {
    return row.measurement && row.measurement->samples.all.size() < kFewest;
  });
}

// Explains the intervals of the table.
std::string intervals_line(const BenchReport& report) {
  const size_t count = num_processes(report);
  if (count == 0) return "";
  if (count == 1)
    return "One process: the intervals are of its samples, not for different processes; set processes: 5 to measure "
           "five.";
  if (count < static_cast<size_t>(kMinProcessesForInterval))
    return fmt::format("{} processes: the intervals are their range; 95 % intervals need 3.", count);
  return fmt::format("{} processes: the times are means over processes, with 95 % intervals of the mean.", count);
}

std::string wide_line(const BenchReport& report) {
  const bool is_one = num_processes(report) == 1;
  return fmt::format(
      "wide: the {} differ too much, the end of the interval is more than 50 % away; {} (ends: bench --wide).",
      is_one ? "samples" : "processes", is_one ? "more repeats help" : "more processes help");
}

}  // namespace

TextTable report_table(const BenchReport& report, TableWidth width) {
  ColumnList<BenchRow> columns = columns_of_keys<BenchRow>(keys_of(report.rows));
  append(columns, kNarrowColumns);
  if (width == TableWidth::kWide) append(columns, kWideColumns);
  return table_of(columns, report.rows);
}

std::vector<std::string> report_ceilings(const BenchReport& report) {
  std::vector<std::string> ceilings;
  for (const Ceiling& ceiling : report.ceilings)
    ceilings.push_back(fmt::format("{} {} at its best: {:.3g} TFLOP/s in a large GEMM, {:.3g} GB/s in a large copy",
                                   ceiling.device, ceiling.precision, ceiling.gemm_flops_per_second / 1e12,
                                   ceiling.copy_bytes_per_second / 1e9));
  return ceilings;
}

// Returns shared information of rows only once: "naive: native loop, 8 GEMMs a step".
std::vector<std::string> report_paths(const BenchReport& report, TableWidth width) {
  std::vector<std::string> paths;
  const std::vector<KeyColumn> varying = varying_columns(keys_of(report.rows));
  for (const BenchRow& row : report.rows) {
    if (row.path.empty()) continue;
    const bool is_wide = width == TableWidth::kWide;
    add_once(paths, fmt::format("{} ran {}{}", is_wide ? row_label(row.key, varying) : row.key.layer_text(), row.path,
                                is_wide ? kernel_line(row) : ""));
    for (const std::string& note : row.path_notes) add_once(paths, "  " + note);
  }
  return paths;
}

namespace {

// Returns one warning for each reason, with the rows that it concerns.
std::vector<Warning> reasons_for_missing_rows(const BenchReport& report) {
  const std::vector<KeyColumn> varying = varying_columns(keys_of(report.rows));
  std::vector<GroupFinding> missing;
  for (const BenchRow& row : report.rows)
    if (!row.reason.empty())
      missing.push_back({"not measured: ", row_label(row.key, varying), fmt::format(" ({})", row.reason)});
  std::vector<Warning> warnings = merged(missing);
  for (Warning& warning : warnings) warning.kind = warning::kNotMeasured;
  return warnings;
}

}  // namespace

std::vector<Warning> report_warnings(const BenchReport& report) {
  std::vector<Warning> warnings = reasons_for_missing_rows(report);
  const std::vector<KeyColumn> varying = varying_columns(keys_of(report.rows));
  for (const BenchRow& row : report.rows) {
    for (const Warning& note : row.notes)
      warnings.emplace_back(note.kind, fmt::format("{}: {}", row_label(row.key, varying), note.text));
  }
  return warnings;
}

std::vector<std::string> report_legend(const BenchReport& report) {
  std::vector<std::string> legend = {
      "Times with the half width of their 95 % interval; us/ls: microseconds a layer and step; % GEMM: of the best "
      "above;\ngain: over the first layer, in the forward pass and in all."};
  if (const std::string intervals = intervals_line(report); !intervals.empty()) legend.push_back(intervals);
  if (has_part(report, contains_zero))
    legend.emplace_back("< x: too short to distinguish from zero; x is the upper end of the interval.");
  if (has_part(report, is_negative))
    legend.emplace_back(
        "negative: this part is the difference of two times, and their noise is larger than the difference.");
  if (has_part(report, is_wide) || has_gain(report, is_wide)) legend.push_back(wide_line(report));
  if (num_processes(report) == 1 && has_few_samples(report))
    legend.emplace_back("With fewer than six samples, the interval is the range of the samples.");
  return legend;
}

std::string report_text(const BenchReport& report, TableWidth width) {
  std::string text = lines_of_texts("WARNING: ", texts_of(report.warnings));
  if (!text.empty()) text += "\n";
  if (std::ranges::none_of(report.rows, is_measured))
    return text + "nothing was measured\n" + lines_of_texts("", texts_of(report_warnings(report)));
  text += shared_text(keys_of(report.rows)) + "\n" + lines_of_texts("", report_ceilings(report)) + "\n";
  text += report_table(report, width).text() + "\n" + lines_of_texts("", report_legend(report));
  return text + lines_of_texts("", report_paths(report, width)) + lines_of_texts("", texts_of(report_warnings(report)));
}

namespace {

template <class Record, class RecordOf>
void add_all_fields(ColumnList<BenchRow>& columns, const std::string& prefix, RecordOf record_of) {
  add_fields(columns, keys_of_fields<Record>(), record_of, prefix);
}

// Adds the columns of a part of a measurement, which are empty without one.
template <class Value, class ValueOf>
void add_of_measurement(ColumnList<BenchRow>& columns, const std::string& prefix, ValueOf value_of) {
  add_all_fields<Value>(columns, prefix, [=](const BenchRow& row) -> std::optional<Value> {
    return row.measurement ? std::optional<Value>(value_of(*row.measurement)) : std::nullopt;
  });
}

std::string kernels_text(const BenchRow& row) {
  std::vector<std::string> parts;
  for (const KernelUse& kernel : row.kernels) parts.push_back(fmt::format("{} x{}", kernel.name, kernel.count));
  return join(parts, "; ");
}

ColumnList<BenchRow> csv_columns() {
  using Row = const BenchRow&;
  ColumnList<BenchRow> columns;
  add_all_fields<RowKey>(columns, "", &BenchRow::key);
  add_fields(columns, {"reason"});
  for (const Part& part : kParts) {
    const std::string name = std::string(part.name) + "_";
    add_of_measurement<Estimate>(columns, name + "seconds_", [=](const auto& m) { return m.seconds.*part.seconds; });
    add_of_measurement<PartRate>(columns, name, [=](const auto& m) { return m.rates.*part.rate; });
  }
  add_of_measurement<Estimate>(columns, "speedup_forward_", [](const auto& m) { return m.speedup_forward; });
  add_of_measurement<Estimate>(columns, "speedup_total_", [](const auto& m) { return m.speedup_total; });
  append(columns,
         {{"num_samples",
           [](Row row) { return row.measurement ? std::optional(row.measurement->samples.all.size()) : std::nullopt; }},
          {"num_processes", [](Row row) {
             return row.measurement ? std::optional(by_process(*row.measurement).size()) : std::nullopt;
           }}});
  add_fields(columns, {"wall_seconds", "cpu_seconds"}, &BenchRow::measurement);
  add_fields(columns, {"peak_memory_bytes", "path", "path_notes"});
  append(columns, {{"kernels", kernels_text}, {"notes", [](Row row) { return texts_of(row.notes); }}});
  return columns;
}

}  // namespace

std::string report_csv(const BenchReport& report) { return csv_of(csv_columns(), report.rows); }

}  // namespace rnnlab
