// SPDX-License-Identifier: Apache-2.0
#include "results/epoch_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/table.h"

namespace rnnlab {

namespace {

std::string heading_of(const MetricInfo& metric, std::string_view column) {
  std::string heading(metric.heading);
  if (!metric.is_of_training()) return heading;
  return (column.starts_with("train_") ? "train " : "valid ") + heading;
}

EpochColumn metric_column(std::string name, int place, std::optional<EpochMember> member = std::nullopt) {
  const MetricInfo* metric = find_metric(name);
  RNNLAB_INVARIANT(metric != nullptr, "the column of a metric must be of one in the list");
  std::string heading = heading_of(*metric, name);
  return {std::move(name), std::move(heading), metric->kind, ColumnRole::kMetric,
          member,          OverRanks::kOwn,    place,        metric->is_of_scores()};
}

// The order is that of the files, so that later versions add columns at the end.
std::vector<EpochColumn> make_columns() {
  using enum ColumnRole;
  using enum NumberKind;
  using enum OverRanks;
  using Row = EpochRow;
  constexpr int kPlaceOfScores = 8;
  std::vector<EpochColumn> columns = {
      {"epoch", "epoch", kCount, kLabel, &Row::epoch, kOwn, 1},
      metric_column("train_loss", 9, &Row::train_loss),
      metric_column("train_accuracy", 2),
      metric_column("valid_loss", 10, &Row::valid_loss),
      metric_column("valid_accuracy", 3),
      {"learning_rate", "learn rate", kMeasure, kTraining, &Row::learning_rate, kOwn, 16},
      {"gradient_norm", "grad norm", kMeasure, kTraining, &Row::gradient_norm, kOwn, 17},
      {"train_seconds", "train", kSeconds, kMeasurement, &Row::train_seconds, kOfSlowest, 11},
      {"valid_seconds", "valid", kSeconds, kMeasurement, &Row::valid_seconds, kOwn, 19},
      {"data_seconds", "data", kSeconds, kMeasurement, &Row::data_seconds, kOfSlowest, 21},
      {"samples_per_second", "samples/s", kCount, kMeasurement, &Row::samples_per_second, kOfSlowest, 15},
      {"peak_memory_bytes", "peak", kBytes, kMeasurement, &Row::peak_memory_bytes, kLargest, 20},
      {"warmup", "", kCount, kLabel, &Row::warmup},
      metric_column("train_perplexity", 6),
      metric_column("valid_perplexity", 7),
      metric_column("valid_bits_per_character", 14),
      metric_column("train_mae", 13),
      metric_column("valid_mae", 5),
      metric_column("train_rmse", 12),
      metric_column("valid_rmse", 4),
      {"skipped_steps", "skipped", kCount, kTraining, &Row::skipped_steps, kOwn, 18},
      {"device_seconds", "", kSeconds, kMeasurement, &Row::device_seconds, kOfSlowest},
      {"cpu_seconds", "", kSeconds, kMeasurement, &Row::cpu_seconds, kOfSlowest},
      {"boot_seconds", "", kSeconds, kMeasurement, &Row::boot_seconds, kOfSlowest},
      {"steal_seconds", "", kSeconds, kMeasurement, &Row::steal_seconds, kOfSlowest},
      {"throttled_seconds", "", kSeconds, kMeasurement, &Row::throttled_seconds, kOfSlowest},
      {"voluntary_switches", "", kCount, kMeasurement, &Row::voluntary_switches, kOfSlowest},
      {"forced_switches", "", kCount, kMeasurement, &Row::forced_switches, kOfSlowest},
      {"gpu_joules", "", kMeasure, kMeasurement, &Row::gpu_joules, kSum},
      {"cpu_joules", "", kMeasure, kMeasurement, &Row::cpu_joules, kOfSlowest},
      {"exchange_seconds", "", kSeconds, kMeasurement, &Row::exchange_seconds, kOfSlowest},
      {"slowest_process_seconds", "", kSeconds, kMeasurement, &Row::slowest_process_seconds},
      {"fastest_process_seconds", "", kSeconds, kMeasurement, &Row::fastest_process_seconds},
  };
  for (const MetricInfo* metric : score_metrics())
    columns.push_back(metric_column("valid_" + std::string(metric->name), kPlaceOfScores));
  return columns;
}

bool is_in(const EpochRow& row, const EpochColumn& column) {
  return !column.is_on_request || row.metrics.contains(column.name) || row.undefined.contains(column.name);
}

std::optional<double> metric_of(const EpochRow& row, const std::string& name) {
  const auto found = row.metrics.find(name);
  return found == row.metrics.end() ? std::nullopt : std::optional(found->second);
}

// Calls `use` with the value of the column, of the type that it has in the row.
template <class Use>
auto with_value(const EpochRow& row, const EpochColumn& column, Use use) {
  if (!column.member) return use(metric_of(row, column.name));
  return std::visit([&](auto member) { return use(row.*member); }, *column.member);
}

}  // namespace

std::span<const EpochColumn> epoch_columns() {
  static const std::vector<EpochColumn> columns = make_columns();
  return columns;
}

const EpochColumn* find_column(std::string_view name) {
  const auto found = std::ranges::find(epoch_columns(), name, &EpochColumn::name);
  return found == epoch_columns().end() ? nullptr : &*found;
}

namespace {

template <class T>
std::optional<double> to_number(const T& value) {
  return static_cast<double>(value);
}

template <class T>
std::optional<double> to_number(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

}  // namespace

std::optional<double> number_in(const EpochRow& row, const EpochColumn& column) {
  return with_value(row, column, [](const auto& value) { return to_number(value); });
}

namespace {

template <class T>
void set(T& value, std::optional<double> number) {
  if (number) value = static_cast<T>(*number);
}

template <class T>
void set(std::optional<T>& value, std::optional<double> number) {
  value.reset();
  if (number) value = static_cast<T>(*number);
}

}  // namespace

void put_number(EpochRow& row, const EpochColumn& column, std::optional<double> number) {
  if (column.member) return std::visit([&](auto member) { set(row.*member, number); }, *column.member);
  row.metrics.erase(column.name);
  if (number) row.metrics[column.name] = *number;
}

namespace {

std::string field_text(const EpochRow& row, const EpochColumn& column) {
  return with_value(row, column, [](const auto& value) { return cell_text(value); });
}

std::optional<double> parse_any_double(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan" || text == "-nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return kInfinity;
  if (text == "-inf") return -kInfinity;
  return parse_double(text);
}

bool from_text(std::string_view text, bool& value) {
  value = text == "1";
  return text == "0" || text == "1";
}

bool from_text(std::string_view text, int64_t& value) {
  const auto parsed = parse_int64(text);
  value = parsed.value_or(0);
  return parsed.has_value();
}

bool from_text(std::string_view text, double& value) {
  const auto parsed = parse_any_double(text);
  value = parsed.value_or(0);
  return parsed.has_value();
}

template <class T>
bool from_text(std::string_view text, std::optional<T>& value) {
  if (text.empty()) return true;
  return from_text(text, value.emplace());
}

const char* wanted(bool) { return "0 or 1"; }
const char* wanted(int64_t) { return "a whole number"; }
const char* wanted(double) { return "a number"; }
template <class T>
const char* wanted(const std::optional<T>&) {
  return wanted(T{});
}

struct Line {
  std::string_view text;
  const std::string& source;
  size_t number;
};

template <class... Args>
[[noreturn]] void throw_at(const Line& line, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ExitCode::kData, "{}:{}: {}", line.source, line.number, fmt::format(format, std::forward<Args>(args)...));
}

// Describes a column of the file; `known` is null if this version does not know the column.
struct FileColumn {
  std::string name;
  const EpochColumn* known = nullptr;
};

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T> EpochRow::*> = true;

// A column that is not optional exists in every version.
bool is_required(const EpochColumn& column) {
  return column.member && std::visit([](auto member) { return !kIsOptional<decltype(member)>; }, *column.member);
}

std::vector<FileColumn> parse_header(const Line& line) {
  std::vector<FileColumn> columns;
  std::set<std::string> names;
  for (const std::string& name : columns_in_header(line.text)) {
    if (!names.insert(name).second) throw_at(line, "the column {} occurs twice", in_quotes(name));
    columns.push_back({name, find_column(name)});
  }
  for (const EpochColumn& column : epoch_columns())
    if (is_required(column) && !names.contains(std::string(column.name)))
      throw_at(line, "the column '{}' is missing: this is not a file of rnnlab", column.name);
  return columns;
}

// Other values are computed from times, so times must be numbers.
void check_times(const Line& line, const EpochRow& row) {
  const bool is_time = std::isfinite(row.train_seconds) && row.train_seconds >= 0;
  const bool is_possible = is_time && (row.warmup || row.train_seconds > 0);
  if (!is_possible) throw_at(line, "train_seconds is {}, expected a time above zero", row.train_seconds);
}

void read_field(const Line& line, const FileColumn& column, const std::string& text, EpochRow& row) {
  if (column.known == nullptr) {
    row.other_columns[column.name] = text;
    return;
  }
  const auto read = [&](auto& value) {
    if (!from_text(text, value)) throw_at(line, "{} is {}, expected {}", column.name, in_quotes(text), wanted(value));
  };
  if (column.known->member) return std::visit([&](auto member) { read(row.*member); }, *column.known->member);
  std::optional<double> metric;
  read(metric);
  put_number(row, *column.known, metric);
}

EpochRow parse_row(const Line& line, const std::vector<FileColumn>& columns) {
  const std::vector<std::string> fields = split(line.text, ',');
  if (fields.size() != columns.size())
    throw_at(line, "{}, expected {}", counted(std::ssize(fields), "field"), columns.size());
  EpochRow row;
  for (size_t i = 0; i < columns.size(); ++i) read_field(line, columns[i], fields[i], row);
  check_times(line, row);
  return row;
}

}  // namespace

std::vector<std::string> epoch_csv_columns(std::span<const EpochRow> rows) {
  std::vector<std::string> names;
  for (const EpochColumn& column : epoch_columns()) {
    const auto has_it = [&](const EpochRow& row) { return is_in(row, column); };
    if (!column.is_on_request || std::ranges::any_of(rows, has_it)) names.push_back(column.name);
  }
  for (const EpochRow& row : rows)
    for (const auto& [name, text] : row.other_columns) add_once(names, name);
  return names;
}

std::string epoch_csv_header(const std::vector<std::string>& columns) { return join(columns, ",") + "\n"; }

std::string epoch_csv_cell(const EpochRow& row, const std::string& column) {
  if (const EpochColumn* known = find_column(column)) return field_text(row, *known);
  const auto found = row.other_columns.find(column);
  return found == row.other_columns.end() ? "" : found->second;
}

std::string epoch_csv_line(const EpochRow& row, const std::vector<std::string>& columns) {
  std::vector<std::string> fields;
  for (const std::string& column : columns) fields.push_back(epoch_csv_cell(row, column));
  return join(fields, ",") + "\n";
}

std::string epoch_jsonl_line(const EpochRow& row) {
  Json line = {{"schema_version", kFileVersion}};
  for (const EpochColumn& column : epoch_columns())
    if (is_in(row, column))
      line[column.name] = with_value(row, column, [](const auto& value) { return to_json(value); });
  for (const auto& [name, text] : row.other_columns) line[name] = text;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> columns_in_header(std::string_view text) {
  return split(text.substr(0, text.find('\n')), ',');
}

std::vector<EpochRow> parse_epochs_csv(std::string_view text, const std::string& source) {
  if (text.empty()) throw_error(ExitCode::kData, "{}: empty, expected a header line", source);
  std::vector<FileColumn> columns;
  std::vector<EpochRow> rows;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const Line line{text.substr(0, end), source, number};
    if (end == std::string_view::npos)
      throw_at(line, "the last line is cut off (no line end): delete it to use the rows before it");
    text.remove_prefix(end + 1);
    if (number == 1) {
      columns = parse_header(line);
      continue;
    }
    rows.push_back(parse_row(line, columns));
    const bool rising = rows.size() < 2 || rows[rows.size() - 2].epoch < rows.back().epoch;
    if (!rising) throw_at(line, "epoch {} follows epoch {}", rows.back().epoch, rows[rows.size() - 2].epoch);
  }
  return rows;
}

}  // namespace rnnlab
