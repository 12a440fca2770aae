// SPDX-License-Identifier: Apache-2.0
#include "data/step_reader.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/csv_changes.h"
#include "data/csv_derived.h"
#include "data/csv_features.h"
#include "data/csv_time.h"
#include "data/normalize.h"
#include "data/readers/byte_stream.h"
#include "data/readers/time_grid.h"
#include "data/readers/time_units.h"
#include "data/source.h"

namespace rnnlab {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostTimes = 16;  // whose median is the usual step

bool is_table(const DataSettings& settings) { return info_of(settings.source).form == DataForm::kTable; }

// Returns the reason of a setting that may be another value when the model is used.
std::string why_not_by_choice(const DataSettings& settings) {
  if (settings.missing == MissingPolicy::kDrop)
    return "data.missing: drop leaves rows out, but each row has to be a step; use data.missing=previous, mean or zero";
  if (settings.unsorted == Unsorted::kSort)
    return "data.unsorted: sort needs rows that have not arrived; use data.unsorted=error or ignore";
  if (settings.duplicates == Duplicates::kFirst || settings.duplicates == Duplicates::kLast)
    return fmt::format(
        "data.duplicates: {} leaves rows out, but each row has to be a step; use data.duplicates=error "
        "or ignore",
        config::name_of(settings.duplicates));
  if (settings.gaps == Gaps::kFill)
    return "data.gaps: fill inserts rows before the one that arrives; use data.gaps=error, split or ignore";
  return "";
}

std::string why_not_as_table(const DataSettings& settings) {
  if (!has_series(settings))
    return "each row of the table is a sample of its own, not a step of a series; predict without --stream";
  if (!settings.known.empty()) return "data.known has values of later rows, which have not arrived";
  if (settings.scale_by == ScaleBy::kWindow) return "data.scale_by: window scales all rows of a window together";
  if (settings.target_as == TargetAs::kSeasonalChange)
    return "data.target_as: seasonal_change needs the row one season before, and a state has only the last one";
  if (settings.gaps == Gaps::kMask) return "data.gaps: mask inserts rows before the one that arrives";
  return why_not_by_choice(settings);
}

}  // namespace

// A quote after another one of a cell in quotes is the second of two that mean one.
RowEnds::Place RowEnds::after(char c) const {
  if (place_ == Place::kMisplaced) return place_;
  if (place_ == Place::kQuoted) return c == '"' ? Place::kAfterQuote : place_;
  if (c == '"') return place_ == Place::kPlain ? Place::kMisplaced : Place::kQuoted;
  if (c == delimiter_) return Place::kCellBegin;
  return place_ == Place::kAfterQuote ? Place::kMisplaced : Place::kPlain;
}

bool RowEnds::ends_with(std::string_view line) {
  if (place_ == Place::kRowBegin && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  for (const char c : line) place_ = after(c);
  if (place_ == Place::kQuoted) return false;
  place_ = Place::kRowBegin;
  return true;
}

std::string why_not_streamed(const DataSettings& settings, const FittedData& fitted) {
  if (fitted.normalization == Normalization::kColumnMinMax)
    return "data.normalize: column_minmax scales all steps of a sequence together";
  return is_table(settings) ? why_not_as_table(settings) : "";
}

StepReader::StepReader(const DataSettings& settings, const FittedData& fitted, std::string name)
    : settings_(settings),
      fitted_(fitted),
      name_(std::move(name)),
      is_table_(is_table(settings)),
      layout_(layout_of(fitted)),
      local_(LocalScales::of(fitted, settings)),
      num_columns_(is_table_ ? 0 : fitted.shape.input_size) {}

CsvOptions StepReader::options() const {
  return is_table_ ? csv_options(settings_) : CsvOptions{.header = CsvHeader::kAbsent};
}

void StepReader::set_header(std::string text, int64_t line) {
  CsvOptions as_row = options();
  as_row.header = CsvHeader::kAbsent;
  num_columns_ = one_row("", text, line, as_row).num_columns();
  header_ = std::move(text);
}

std::vector<std::string> StepReader::id_names() const {
  std::vector<std::string> names;
  if (!is_table_) return names;
  if (!settings_.group.empty()) names.push_back(settings_.group);
  for (const std::string& name : settings_.id) add_once(names, name);
  return names;
}

size_t StepReader::num_values() const {
  if (!is_table_) return static_cast<size_t>(fitted_.shape.input_size);
  const size_t num_made = derived_names(settings_).size() + settings_.categories.size();  // of other columns
  return layout_.features.size() - num_made + (are_changes(settings_) ? settings_.target.size() : 0);
}

CsvTable StepReader::one_row(const std::string& header, const std::string& text, int64_t line,
                             CsvOptions options) const {
  options.first_line = static_cast<uint32_t>(line);
  CsvTable table = parse_csv(header + text, name_, options);
  if (table.num_rows() == 1 && table.line(0, 0) == options.first_line) return table;
  throw_error(ExitCode::kData,
              "{}:{}: a carriage return within the line ends a row, but rows that arrive end with a line feed: write "
              "LF or CRLF after each row",
              name_, line);
}

StreamRow StepReader::read(const std::string& text, int64_t line) {
  CsvTable table = one_row(header_, text, line, options());
  if (num_columns_ == 0) num_columns_ = table.num_columns();
  StreamRow row;
  for (const std::string& name : id_names()) row.id.emplace_back(table.value(0, table.column_index(name)));
  row.part = is_table_ ? part_of_table(std::move(table)) : part_of_array(table);
  row.part.is_one_of_many = true;
  row.series = row.part.series.front().name;
  return row;
}

// Targets are read only if predictions are relative to them.
CsvPart StepReader::part_of_table(CsvTable table) const {
  DataSettings settings = settings_;
  if (!are_changes(settings)) settings.target.clear();
  return read_csv_part(std::move(table), settings, &layout_, Targets::kIfPresent);
}

CsvPart StepReader::part_of_array(const CsvTable& table) const {
  if (table.num_columns() != fitted_.shape.input_size)
    throw_error(ExitCode::kData, "{}:{}: got {}, but a step of the model has {}, separated by commas", name_,
                table.line(0, 0), counted(table.num_columns(), "number"), fitted_.shape.input_size);
  CsvPart part;
  part.features = numeric_columns(table, table.column_names(), MissingPolicy::kDrop);
  part.series.push_back({"", {0, 1}});
  part.table = table;
  return part;
}

namespace {

[[noreturn]] void fail_in(const CsvPart& part, const std::string& column, const std::string& message) {
  part.table.fail_at(0, part.table.column_index(column), message);
}

double last_value(const SeriesPast& past, size_t column) { return past.values.empty() ? kNone : past.values[column]; }

std::string of_series(const CsvPart& part) {
  const std::string& name = part.series.front().name;
  return name.empty() ? "" : " of the series " + in_quotes(name);
}

void fill_with_previous(const CsvPart& part, NumericColumn& column, double previous) {
  if (!std::isnan(column.values[0])) return;
  if (std::isnan(previous))
    fail_in(part, column.name,
            fmt::format("the value is missing, and no row{} before it has one; fill it", of_series(part)));
  column.values[0] = previous;
  column.num_missing = 0;
}

void require_same_static(const CsvPart& part, const NumericColumn& column, double previous) {
  if (std::isnan(previous) || std::isnan(column.values[0]) || column.values[0] == previous) return;
  fail_in(part, column.name,
          fmt::format("got {}, but the rows before it{} have {}: a column of data.static is constant within a series",
                      column.values[0], of_series(part), previous));
}

// Of arrays, `drop` is only about targets.
bool fills(MissingPolicy policy) { return policy != MissingPolicy::kError && policy != MissingPolicy::kDrop; }

// Fills what is missing in the row, and returns the values of its columns for the next one.
std::vector<double> fill_from(CsvPart& part, const SeriesPast& past, const DataSettings& settings,
                              const std::map<std::string, double>& means) {
  std::vector<double> values;
  for (NumericColumn& column : part.features) {
    const double previous = last_value(past, values.size());
    if (is_listed(settings.static_features, column.name)) require_same_static(part, column, previous);
    if (!fills(settings.missing) && std::isnan(column.values[0]))
      fail_in(part, column.name, "the value is missing: give a number");
    const bool has_static = is_listed(settings.static_features, column.name) && !std::isnan(previous);
    if (has_static || settings.missing == MissingPolicy::kPrevious) fill_with_previous(part, column, previous);
    values.push_back(column.values[0]);
  }
  fill_missing(part, settings.missing, means);
  if (!are_changes(settings)) return values;
  for (NumericColumn& column : part.targets) {
    fill_with_previous(part, column, last_value(past, values.size()));
    values.push_back(column.values[0]);
  }
  return values;
}

// ---- times ----

// Returns the time of the row, if the settings look at times. The reader of the table has checked that it is one.
std::optional<int64_t> time_of(const CsvPart& part, const DataSettings& settings) {
  const bool has_column = part.time && is_listed(part.table.column_names(), *part.time);
  if (!has_column || ignores_times(settings)) return std::nullopt;
  const auto found = times_of_column(part.table, part.table.column_index(*part.time), part.order);
  return found ? std::optional(found->times.front()) : std::nullopt;
}

[[noreturn]] void refuse_time(const CsvPart& part, const std::string& what) {
  const std::string_view cell = part.table.value(0, part.table.column_index(*part.time));
  fail_in(part, *part.time, fmt::format("got {}{}, which is {}", in_quotes(cell), of_series(part), what));
}

void require_order(const CsvPart& part, int64_t last, int64_t now, const DataSettings& settings) {
  if (now < last && settings.unsorted == Unsorted::kError)
    refuse_time(part, "before the time of the row before it; correct the row, or set data.unsorted=ignore");
  if (now == last && settings.duplicates == Duplicates::kError)
    refuse_time(part,
                "the time of the row before it; leave out rows that were read already, or set "
                "data.duplicates=ignore");
}

// A series of workdays has its first weekend before it is a week long, from when on irregular_steps() knows it.
bool is_next_workday(const std::vector<int64_t>& times) {
  const int64_t working = without_weekends(times.back()) - without_weekends(times[times.size() - 2]);
  return std::abs(working - kDay) <= kDay / 2 && std::ranges::none_of(times, is_at_weekend);
}

// Returns what is wrong with the step in time to the last of these times; "" if it is the usual one.
std::string fault_of_step(const std::vector<int64_t>& times, const DataSettings& settings) {
  const int64_t before = times[times.size() - 2], now = times.back();
  if (now <= before) return "";
  if (const auto step = parse_time_step(settings.frequency)) {
    if (TimeGrid(*step, times).steps_between(before, now) == 1) return "";
    return fmt::format("{} after the row before it, but data.frequency is {}", duration_text(now - before),
                       settings.frequency);
  }
  const Irregular uneven = irregular_steps(times);
  if (!uneven.is_long.back() && !uneven.is_short.back()) return "";
  if (uneven.usual_step == kDay && is_next_workday(times)) return "";
  return fmt::format("{} after the row before it, but the usual step is {}", duration_text(now - before),
                     duration_text(uneven.usual_step));
}

// Adds the time of the row. Returns why a gap before it ends its series, or "".
std::string add_time(std::vector<int64_t>& times, const CsvPart& part, const DataSettings& settings) {
  const auto now = time_of(part, settings);
  if (!now) return "";
  times.push_back(*now);
  if (times.size() == 1) return "";
  require_order(part, times[times.size() - 2], *now, settings);
  if (times.size() > kMostTimes) times.erase(times.begin());
  std::string fault = settings.gaps == Gaps::kIgnore ? "" : fault_of_step(times, settings);
  if (fault.empty()) return "";
  if (settings.gaps == Gaps::kError)
    refuse_time(part,
                fault + "; give the rows in between, or set data.gaps=split, which begins the series again, or ignore");
  times = {*now};
  return fault;
}

std::string note_on_new_begin(const CsvPart& part, const std::string& fault) {
  const CsvTable& table = part.table;
  const int64_t column = table.column_index(*part.time);
  return fmt::format("{}:{}: {}{} is {}, so the series begins again (data.gaps: split)", table.path(),
                     table.line(0, column), in_quotes(table.value(0, column)), of_series(part), fault);
}

// The row as the only one of a sequence.
Windows window_of_row(const DataSettings& settings) {
  Windows windows{.window = 1,
                  .first = {0},
                  .target = std::vector<int64_t>(settings.horizon.size(), kNoRow),
                  .num_horizons = settings.horizon.size(),
                  .has_target_per_row = has_target_per_step(settings)};
  if (windows.has_target_per_row) windows.lengths = {1};
  return windows;
}

std::vector<Scaling> scalings_in(const std::vector<ColumnScale>& columns) {
  std::vector<Scaling> scalings;
  for (const ColumnScale& column : columns) scalings.push_back({column.offset, column.scale});
  return scalings;
}

}  // namespace

Samples StepReader::sample_of_table(CsvPart& part) const {
  add_derived(part, settings_, fitted_.column_means);
  add_categories(part, fitted_.categories, settings_);
  if (std::string note = local_.note_on_unknown(part); !note.empty()) part.notes.push_back(std::move(note));
  const Windows window = window_of_row(settings_);
  const TargetFrame frame = frame_of_targets(part, window, local_, settings_);
  Samples samples;
  samples.inputs = local_.inputs_of(part, window, scalings_in(fitted_.feature_scales));
  samples.target_bases = frame.bases;
  samples.target_units = frame.units;
  return samples;
}

Samples StepReader::sample_of_array(const CsvPart& part) const {
  Samples samples;
  samples.inputs = at::empty({1, 1, std::ssize(part.features)}, at::kFloat);
  float* input = samples.inputs.mutable_data_ptr<float>();
  for (const NumericColumn& column : part.features) {
    *input = static_cast<float>(column.values[0]);
    if (!std::isfinite(*input++)) fail_in(part, column.name, "the number does not fit into float32, at most 3.4e38");
  }
  normalize_as(samples, fitted_.normalization, scalings_in(fitted_.feature_scales),
               settings_.byte_maximum.value_or(kLargestByte));
  return samples;
}

StreamStep StepReader::step(StreamRow row, const SeriesPast& past) const {
  StreamStep step{.samples = {}, .past = {{}, past.times}, .notes = {}};
  CsvPart& part = row.part;
  if (is_table_) {
    const std::string fault = add_time(step.past.times, part, settings_);
    step.begins_anew = !fault.empty();
    if (step.begins_anew) part.notes.push_back(note_on_new_begin(part, fault));
  }
  step.past.values = fill_from(part, step.begins_anew ? SeriesPast() : past, settings_, fitted_.column_means);
  step.samples = is_table_ ? sample_of_table(part) : sample_of_array(part);
  step.notes = std::move(part.notes);
  return step;
}

}  // namespace rnnlab
