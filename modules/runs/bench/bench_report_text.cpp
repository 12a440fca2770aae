// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/comparison.h"

namespace rnnlab {
namespace {

template <int64_t RowKey::*member>
std::string number(const RowKey& key) {
  return std::to_string(key.*member);
}

template <std::string RowKey::*member>
std::string word(const RowKey& key) {
  return key.*member;
}

// Usual values are not shown.
std::string inputs(const RowKey& key) {
  return key.input_size == key.hidden_size ? "" : std::to_string(key.input_size);
}

std::string algorithm(const RowKey& key) { return key.cudnn_algorithm == "auto" ? "" : key.cudnn_algorithm; }

std::string directions(const RowKey& key) { return key.bidirectional ? "2" : ""; }

std::string heads(const RowKey& key) { return key.heads == 1 ? "" : fmt::format("{} heads", key.heads); }

bool varies(const KeyColumn& column, const std::vector<BenchRow>& rows) {
  return std::ranges::any_of(rows,
                             [&](const BenchRow& row) { return column.text(row.key) != column.text(rows[0].key); });
}

// Sizes are shown with their letter; words need no heading.
std::string with_heading(const KeyColumn& column, const RowKey& key) {
  const std::string text = column.text(key);
  const bool is_size = std::string_view(column.heading).size() == 1;
  return is_size && !text.empty() ? std::string(column.heading) + " " + text : text;
}

void add_part(std::vector<std::string>& parts, std::string part) {
  if (!part.empty()) parts.push_back(std::move(part));
}

}  // namespace

const std::vector<KeyColumn>& key_columns() {
  static const std::vector<KeyColumn> columns = {
      {"device", word<&RowKey::device>},   {"mode", word<&RowKey::mode>},      {"precision", word<&RowKey::precision>},
      {"cell", word<&RowKey::cell>},       {"algorithm", algorithm, "auto"},   {"I", inputs, "I = H"},
      {"H", number<&RowKey::hidden_size>}, {"B", number<&RowKey::batch_size>}, {"T", number<&RowKey::num_steps>},
      {"L", number<&RowKey::num_layers>},  {"D", directions, "D 1"},           {"heads", heads, "1 head"}};
  return columns;
}

std::vector<KeyColumn> varying_columns(const std::vector<BenchRow>& rows) {
  std::vector<KeyColumn> columns;
  for (const KeyColumn& column : key_columns())
    if (varies(column, rows)) columns.push_back(column);
  return columns;
}

std::string shared_text(const std::vector<BenchRow>& rows) {
  if (rows.empty()) return "";
  std::vector<std::string> parts;
  for (const KeyColumn& column : key_columns())
    if (!varies(column, rows)) add_part(parts, with_heading(column, rows[0].key));
  return join(parts, " ");
}

std::string significant(double value, int digits) {
  constexpr int kMostDecimals = 9;
  if (!std::isfinite(value)) return fmt::format("{}", value);
  // The magnitude is taken after rounding, because 99.99 may become 100.
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);
  const int magnitude = std::stoi(rounded.substr(rounded.find('e') + 1));
  return fmt::format("{:.{}f}", value, std::clamp(digits - 1 - magnitude, 0, kMostDecimals));
}

std::string row_label(const RowKey& key, const std::vector<KeyColumn>& varying) {
  std::vector<std::string> parts = {key.layer_text()};
  for (const KeyColumn& column : varying) add_part(parts, with_heading(column, key));
  return join(parts, " ");
}

namespace {

constexpr const char* kNothing = "-";
constexpr size_t kKernelsShown = 3;
constexpr double kWidestHalf = 0.5;  // of the value; beyond it the value says nothing

std::string milliseconds(double seconds) { return significant(seconds * 1e3, 4); }

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

std::string interval(const Estimate& seconds) {
  return fmt::format("{} .. {}", milliseconds(seconds.low), milliseconds(seconds.high));
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string speedup(const std::optional<Estimate>& value) {
  if (!value) return kNothing;
  return significant(value->value, 3) + (is_wide(*value) ? "x wide" : "x");
}

std::string speedup_interval(const std::optional<Estimate>& value) {
  return value ? significant(value->low, 3) + " .. " + significant(value->high, 3) : kNothing;
}

template <class Text>
std::string of_rate(const std::optional<PartRate>& rate, Text text) {
  return rate ? text(*rate) : kNothing;
}

std::string microseconds(const std::optional<PartRate>& rate) {
  return of_rate(rate, [](const PartRate& r) { return significant(r.microseconds_per_layer_step, 3); });
}

std::string gflops(const std::optional<PartRate>& rate) {
  return of_rate(rate, [](const PartRate& r) { return significant(r.gflops, 3); });
}

std::string gemm_percent(const std::optional<PartRate>& rate) {
  return of_rate(rate, [](const PartRate& r) { return percent(r.gemm_share); });
}

std::string bandwidth_percent(const std::optional<PartRate>& rate) {
  return of_rate(rate, [](const PartRate& r) { return percent(r.bandwidth_share); });
}

std::string least_bytes_text(const std::optional<PartRate>& rate) {
  return of_rate(rate, [](const PartRate& r) { return format_bytes(static_cast<int64_t>(r.least_bytes)); });
}

std::string memory(const BenchRow& row) {
  return row.peak_memory_bytes ? format_bytes(*row.peak_memory_bytes) : kNothing;
}

struct Column {
  const char* heading;
  std::string (*text)(const BenchRow& row, const Measurement& measurement);
};

const std::vector<Column> kNarrowColumns = {
    {"forward ms", [](const BenchRow&, const Measurement& m) { return with_half_width(m.seconds.forward); }},
    {"bwd data ms", [](const BenchRow&, const Measurement& m) { return with_half_width(m.seconds.backward_data); }},
    {"bwd weights ms",
     [](const BenchRow&, const Measurement& m) { return with_half_width(m.seconds.backward_weights); }},
    {"total ms", [](const BenchRow&, const Measurement& m) { return with_half_width(m.seconds.total); }},
    {"fwd us/ls", [](const BenchRow&, const Measurement& m) { return microseconds(m.rates.forward); }},
    {"bwd us/ls", [](const BenchRow&, const Measurement& m) { return microseconds(m.rates.backward_data); }},
    {"fwd GFLOP/s", [](const BenchRow&, const Measurement& m) { return gflops(m.rates.forward); }},
    {"% GEMM", [](const BenchRow&, const Measurement& m) { return gemm_percent(m.rates.forward); }},
    {"fwd gain", [](const BenchRow&, const Measurement& m) { return speedup(m.speedup_forward); }},
    {"gain", [](const BenchRow&, const Measurement& m) { return speedup(m.speedup_total); }},
};

const std::vector<Column> kWideColumns = {
    {"forward 95 %", [](const BenchRow&, const Measurement& m) { return interval(m.seconds.forward); }},
    {"bwd data 95 %", [](const BenchRow&, const Measurement& m) { return interval(m.seconds.backward_data); }},
    {"bwd weights 95 %", [](const BenchRow&, const Measurement& m) { return interval(m.seconds.backward_weights); }},
    {"total 95 %", [](const BenchRow&, const Measurement& m) { return interval(m.seconds.total); }},
    {"GFLOP/s", [](const BenchRow&, const Measurement& m) { return gflops(m.rates.total); }},
    {"all % GEMM", [](const BenchRow&, const Measurement& m) { return gemm_percent(m.rates.total); }},
    {"fwd bytes", [](const BenchRow&, const Measurement& m) { return least_bytes_text(m.rates.forward); }},
    {"fwd % copy", [](const BenchRow&, const Measurement& m) { return bandwidth_percent(m.rates.forward); }},
    {"bytes", [](const BenchRow&, const Measurement& m) { return least_bytes_text(m.rates.total); }},
    {"% copy", [](const BenchRow&, const Measurement& m) { return bandwidth_percent(m.rates.total); }},
    {"memory", [](const BenchRow& row, const Measurement&) { return memory(row); }},
    {"fwd gain 95 %", [](const BenchRow&, const Measurement& m) { return speedup_interval(m.speedup_forward); }},
    {"gain 95 %", [](const BenchRow&, const Measurement& m) { return speedup_interval(m.speedup_total); }},
};

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

bool has_part(const BenchReport& report, bool (*is_so)(const Estimate& seconds)) {
  return std::ranges::any_of(report.rows, [&](const BenchRow& row) {
    return row.measurement &&
           std::ranges::any_of(kParts, [&](const Part& part) { return is_so(row.measurement->seconds.*part.seconds); });
  });
}

bool has_wide_gain(const BenchReport& report) {
  return std::ranges::any_of(report.rows, [](const BenchRow& row) {
    const auto is_wide_gain = [](const std::optional<Estimate>& gain) { return gain && is_wide(*gain); };
    return row.measurement &&
           (is_wide_gain(row.measurement->speedup_forward) || is_wide_gain(row.measurement->speedup_total));
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

std::string as_lines(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) lines += text + "\n";
  return lines;
}

}  // namespace

TextTable report_table(const BenchReport& report, TableWidth width) {
  std::vector<Column> columns = kNarrowColumns;
  if (width == TableWidth::kWide) columns.insert(columns.end(), kWideColumns.begin(), kWideColumns.end());
  const std::vector<KeyColumn> varying = varying_columns(report.rows);
  TextTable table;
  for (const KeyColumn& key : varying) table.add_column(key.heading, Align::kLeft);
  table.add_column("layer", Align::kLeft);
  for (const Column& column : columns) table.add_column(column.heading, Align::kRight);
  for (const BenchRow& row : report.rows) {
    std::vector<std::string> cells;
    for (const KeyColumn& key : varying) cells.push_back(key.text(row.key));
    cells.push_back(row.key.layer_text());
    for (const Column& column : columns)
      cells.push_back(row.measurement ? column.text(row, *row.measurement) : kNothing);
    table.add_row(std::move(cells));
  }
  return table;
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
  const std::vector<KeyColumn> varying = varying_columns(report.rows);
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
  const std::vector<KeyColumn> varying = varying_columns(report.rows);
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
  const std::vector<KeyColumn> varying = varying_columns(report.rows);
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
  if (has_part(report, is_wide) || has_wide_gain(report)) legend.push_back(wide_line(report));
  if (num_processes(report) == 1 && has_few_samples(report))
    legend.emplace_back("With fewer than six samples, the interval is the range of the samples.");
  return legend;
}

std::string report_text(const BenchReport& report, TableWidth width) {
  std::string text;
  for (const Warning& warning : report.warnings) text += "WARNING: " + warning.text + "\n";
  if (!text.empty()) text += "\n";
  const bool has_times =
      std::ranges::any_of(report.rows, [](const BenchRow& row) { return row.measurement.has_value(); });
  if (!has_times) return text + "nothing was measured\n" + as_lines(texts_of(report_warnings(report)));
  text += shared_text(report.rows) + "\n" + as_lines(report_ceilings(report)) + "\n";
  text += report_table(report, width).text() + "\n" + as_lines(report_legend(report));
  return text + as_lines(report_paths(report, width)) + as_lines(texts_of(report_warnings(report)));
}

namespace {

// A name and a value for each column; all rows have equal names.
using CsvFields = std::vector<std::pair<std::string, std::string>>;

std::string csv_text(const std::string& value) { return value; }
std::string csv_text(int64_t value) { return std::to_string(value); }
std::string csv_text(double value) { return format_shortest(value); }
std::string csv_text(const std::optional<double>& value) { return value ? csv_text(*value) : ""; }
std::string csv_text(bool value) { return value ? "1" : "0"; }

// Adds every field of `value`, or as many empty fields, with names that begin with `prefix`.
template <class T>
void add_fields(CsvFields& fields, const std::string& prefix, const std::optional<T>& value) {
  const T one = value.value_or(T{});
  one.visit_fields([&](const std::string& name, const auto& member, int64_t) {
    fields.emplace_back(prefix + name, value ? csv_text(member) : "");
  });
}

void add_measurement(CsvFields& fields, const std::optional<Measurement>& measurement) {
  for (const Part& part : kParts) {
    const std::string name = std::string(part.name) + "_";
    add_fields(fields, name + "seconds_",
               measurement ? std::optional(measurement->seconds.*part.seconds) : std::optional<Estimate>());
    add_fields(fields, name, measurement ? measurement->rates.*part.rate : std::optional<PartRate>());
  }
  add_fields(fields, "speedup_forward_", measurement ? measurement->speedup_forward : std::optional<Estimate>());
  add_fields(fields, "speedup_total_", measurement ? measurement->speedup_total : std::optional<Estimate>());
  fields.emplace_back("num_samples", measurement ? std::to_string(measurement->samples.all.size()) : "");
  fields.emplace_back("num_processes", measurement ? std::to_string(by_process(*measurement).size()) : "");
  fields.emplace_back("wall_seconds", measurement ? csv_text(measurement->wall_seconds) : "");
  fields.emplace_back("cpu_seconds", measurement ? csv_text(measurement->cpu_seconds) : "");
}

std::string kernels_text(const std::vector<KernelUse>& kernels) {
  std::vector<std::string> parts;
  for (const KernelUse& kernel : kernels) parts.push_back(fmt::format("{} x{}", kernel.name, kernel.count));
  return join(parts, "; ");
}

CsvFields fields_of(const BenchRow& row) {
  CsvFields fields;
  add_fields(fields, "", std::optional(row.key));
  fields.emplace_back("reason", row.reason);
  add_measurement(fields, row.measurement);
  fields.emplace_back("peak_memory_bytes", row.peak_memory_bytes ? std::to_string(*row.peak_memory_bytes) : "");
  fields.emplace_back("path", row.path);
  fields.emplace_back("path_notes", join(row.path_notes, "; "));
  fields.emplace_back("kernels", kernels_text(row.kernels));
  fields.emplace_back("notes", join(texts_of(row.notes), "; "));
  return fields;
}

template <class Pick>
std::string line_of(const CsvFields& fields, Pick pick) {
  std::vector<std::string> cells;
  for (const auto& field : fields) cells.push_back(pick(field));
  return csv_line(cells);
}

}  // namespace

std::string report_csv(const BenchReport& report) {
  std::string text = line_of(fields_of(BenchRow{}), [](const auto& field) { return field.first; });
  for (const BenchRow& row : report.rows)
    text += line_of(fields_of(row), [](const auto& field) { return field.second; });
  return text;
}

}  // namespace rnnlab
