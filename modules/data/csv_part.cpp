// SPDX-License-Identifier: Apache-2.0
#include "data/csv_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "base/config/value.h"
#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/csv_time.h"
#include "data/readers/rows.h"

namespace rnnlab {
namespace {

// Adds the key that names the missing column to the message.
void require_columns(const CsvTable& table, const char* key, const std::vector<std::string>& names) {
  try {
    for (const std::string& name : names) table.column_index(name);
  } catch (const UserError& error) {
    throw_error(error.exit_code(), "{}: {}", key, error.what());
  }
}

void require_within(const CsvTable& table, const NumericColumn& column, double least, double most,
                    std::string_view expected) {
  for (size_t row = 0; row < column.values.size(); ++row) {
    const double value = column.values[row];
    if (std::isnan(value) || (value >= least && value <= most)) continue;
    throw_error(ExitCode::kData, "{}:{}: column {} holds {}, expected {}", table.path(),
                table.line(static_cast<int64_t>(row), table.column_index(column.name)), in_quotes(column.name), value,
                expected);
  }
}

std::vector<NumericColumn> numbers(const CsvTable& table, const std::vector<std::string>& names, MissingPolicy policy) {
  constexpr double kMost = std::numeric_limits<float>::max();
  std::vector<NumericColumn> columns = numeric_columns(table, names, policy);
  for (const NumericColumn& column : columns)
    require_within(table, column, -kMost, kMost, "a number that fits into float32, at most 3.4e38");
  return columns;
}

bool is_decimal(const std::string& label) {
  const auto number = parse_double(label);
  return number && *number != std::floor(*number);
}

// Each of 17.38, 17.5 ... as its own class is rarely intended; a user who intends such classes sets data.task.
void refuse_decimal_classes(const std::string& path, const std::string& name, const std::vector<std::string>& labels) {
  const auto decimal = std::ranges::find_if(labels, is_decimal);
  const bool are_numbers = std::ranges::all_of(labels, [](const std::string& label) { return !!parse_double(label); });
  if (decimal == labels.end() || !are_numbers) return;
  throw_error(ExitCode::kData,
              "{}: column {} holds numbers such as {}, and each would be a class: to predict numbers, set "
              "data.task: regression and model.kind: sequence_regressor; else data.task: classification",
              path, in_quotes(name), *decimal);
}

// Returns the first row of the part without a value in the column.
std::optional<int64_t> first_missing(const NumericColumn& column) {
  const auto row = std::ranges::find_if(column.values, [](double value) { return std::isnan(value); });
  return row == column.values.end() ? std::nullopt : std::optional(row - column.values.begin());
}

// Returns which input keeps a row from being one after the end of its series, if the column has no value from there on.
std::string hint_on_future_row(const CsvPart& part, const DataSettings& settings, int64_t row,
                               const NumericColumn& column) {
  if (settings.known.empty()) return "";  // there are no series yet
  const auto is_nan = [](double value) { return std::isnan(value); };
  const auto has_value = [&](const NumericColumn& one) {
    return !is_listed(settings.known, one.name) && !is_listed(settings.static_features, one.name) &&
           !is_nan(one.values[static_cast<size_t>(row)]);
  };
  const auto end = column.values.begin() + part.series_of(row).rows.end;
  const auto found = std::ranges::find_if(part.features, has_value);
  const bool has_ended = std::all_of(column.values.begin() + row, end, is_nan);
  if (!has_ended || found == part.features.end()) return "";
  return fmt::format("; in a row after the end of the series, only columns of data.known have values, and not {}",
                     in_quotes(found->name));
}

[[noreturn]] void refuse_missing_target(const CsvPart& part, int64_t row, const std::string& column,
                                        const std::string& hint) {
  part.table.fail_at(part.table_row(row), part.table.column_index(column),
                     "the target is missing; fill it, or set data.missing: drop, which leaves missing targets out of "
                     "losses and metrics" +
                         hint);
}

void require_targets(const CsvPart& part, const DataSettings& settings) {
  if (missing_targets(settings, part.wanted) != MissingTargets::kRefused) return;
  for (const NumericColumn& column : part.targets)
    if (const auto row = first_missing(column))
      refuse_missing_target(part, *row, column.name, hint_on_future_row(part, settings, *row, column));
  const auto no_class = std::ranges::find(part.classes, -1);
  if (no_class != part.classes.end())
    refuse_missing_target(part, no_class - part.classes.begin(), settings.target.front(), "");
}

// Known values may be missing neither in the rows of a series nor after them.
void require_features(const CsvPart& part, const DataSettings& settings) {
  if (settings.missing != MissingPolicy::kError) return;
  for (const NumericColumn& column : part.features)
    if (const auto row = first_missing(column))
      fail_missing_number(part.table, part.table_row(*row), part.table.column_index(column.name),
                          hint_on_future_row(part, settings, *row, column));
  for (const NumericColumn& column : part.known)
    for (const CsvSeries& series : part.series)
      for (const int64_t row : series.future_rows)
        if (std::isnan(column.values[static_cast<size_t>(row)]))
          fail_missing_number(part.table, row, part.table.column_index(column.name));
}

void read_targets(CsvPart& part, const DataSettings& settings, const CsvLayout* like) {
  const Task task = csv_task(settings);
  // Rows that only say what is known ahead have no target, and are told from others later.
  const MissingTargets missing =
      settings.known.empty() ? missing_targets(settings, part.wanted) : MissingTargets::kAllowed;
  if (task == Task::kClassification) {
    const std::string& name = settings.target.at(0);
    if (like != nullptr) {
      part.labels = like->labels;
      part.classes = class_column_as(part.table, name, part.labels, missing);
      return;
    }
    ClassColumn column = class_column(part.table, name, missing);
    part.classes = std::move(column.classes);
    part.labels = std::move(column.labels);
    add_once(part.notes, column.note);  // merged classes may be meant as two
    if (!named_task(settings.task)) refuse_decimal_classes(part.table.path(), name, part.labels);
    return;
  }
  part.targets = numbers(part.table, settings.target, MissingPolicy::kDrop);
  if (settings.known.empty()) require_targets(part, settings);
  if (task != Task::kBinary) return;
  for (const NumericColumn& column : part.targets) {
    require_within(part.table, column, 0, 1, "a binary target from 0 to 1 (else use task: classification)");
  }
}

std::vector<std::string> names_of(const std::vector<NumericColumn>& columns) {
  std::vector<std::string> names;
  for (const NumericColumn& column : columns) names.push_back(column.name);
  return names;
}

std::optional<double> mean_over(const std::vector<double>& values, const std::vector<int64_t>& rows) {
  double sum = 0;
  int64_t count = 0;
  for (const int64_t row : rows) {
    const double value = values[static_cast<size_t>(row)];
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

void fill_with(double number, NumericColumn& column) {
  std::ranges::replace_if(
      column.values, [](double value) { return std::isnan(value); }, number);
}

bool has_any_column(const CsvTable& table, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return is_listed(table.column_names(), name); });
}

}  // namespace

CsvOptions csv_options(const DataSettings& settings) {
  CsvOptions options{.delimiter = settings.delimiter[0],
                     .header = settings.header ? CsvHeader::kPresent : CsvHeader::kAbsent,
                     .decimal = settings.decimal[0]};
  if (!std::ranges::equal(settings.missing_words, usual_missing_words()))
    options.missing_words = settings.missing_words;
  return options;
}

CsvLayout layout_of(const FittedData& fitted) {
  CsvLayout layout{{}, fitted.vocabulary, fitted.time, {}};
  if (fitted.is_day_first) layout.order = *fitted.is_day_first ? DateOrder::kDayFirst : DateOrder::kMonthFirst;
  for (const ColumnScale& column : fitted.feature_scales) layout.features.push_back(column.name);
  return layout;
}

double mean_of_column(const std::map<std::string, double>& means, const std::string& name, const std::string& path) {
  const auto mean = means.find(name);
  if (mean != means.end()) return mean->second;
  throw_error(ExitCode::kData,
              "{}: column {} has missing values, but the training part has no mean for data.missing=mean; use "
              "data.missing=previous, zero or drop",
              path, in_quotes(name));
}

int64_t CsvPart::num_missing() const {
  int64_t count = 0;
  for (const NumericColumn& column : features) count += column.num_missing;
  return count;
}

bool CsvPart::has_break(int64_t first, int64_t last) const {
  const auto next = std::ranges::upper_bound(breaks, first);
  return next != breaks.end() && *next <= last;
}

int64_t CsvPart::table_row(int64_t row) const { return file_rows.empty() ? row : file_rows[static_cast<size_t>(row)]; }

std::vector<int64_t> CsvPart::table_rows(const std::vector<int64_t>& rows) const {
  if (file_rows.empty()) return rows;
  std::vector<int64_t> of_table = at_rows(file_rows, rows);
  std::erase(of_table, kNoRow);
  return of_table;
}

CsvLayout CsvPart::layout() const { return {names_of(features), labels, time, order}; }

const CsvSeries& CsvPart::series_of(int64_t row) const {
  return *std::ranges::upper_bound(series, row, {}, [](const CsvSeries& one) { return one.rows.end; });
}

namespace {

// Returns the values of these rows of the table, and `missing` for one that is inserted.
template <class T>
std::vector<T> at_rows_or(T missing, const std::vector<T>& values, const std::vector<int64_t>& rows) {
  std::vector<T> some;
  if (values.empty()) return some;
  some.reserve(rows.size());
  for (const int64_t row : rows) some.push_back(row == kNoRow ? missing : values[static_cast<size_t>(row)]);
  return some;
}

// Puts the rows of the part into the order of the series.
void take_rows_of(CsvPart& part, const std::vector<SeriesRows>& all) {
  for (const auto& [name, rows, times] : all) {
    const int64_t begin = std::ssize(part.file_rows);
    part.file_rows.insert(part.file_rows.end(), rows.begin(), rows.end());
    part.times.insert(part.times.end(), times.begin(), times.end());
    part.series.push_back({name, {begin, std::ssize(part.file_rows)}, {}});
  }
  if (part.file_rows == first_rows(part.table.num_rows())) {
    part.file_rows.clear();
    return;
  }
  for (auto* columns : {&part.features, &part.targets})
    for (NumericColumn& column : *columns) {
      column.values = at_rows_or(std::numeric_limits<double>::quiet_NaN(), column.values, part.file_rows);
      column.num_missing = std::ranges::count_if(column.values, [](double value) { return std::isnan(value); });
    }
  part.classes = at_rows_or(int64_t{-1}, part.classes, part.file_rows);
}

// Another file than that of training may lack the column.
bool is_time_examined(const CsvPart& part, const DataSettings& settings) {
  return uses_order(settings) && part.time && !part.time->empty() && is_listed(part.table.column_names(), *part.time);
}

// Treats rows whose times are not known. Runs of earlier versions do not look at times.
void refuse_or_note_no_times(CsvPart& part, const DataSettings& settings) {
  if (!uses_order(settings) || ignores_times(settings) || !part.time) return;
  const std::string setting = setting_that_needs_times(settings);
  const std::string fault =
      part.time->empty() ? "no column has times" : fmt::format("there is no column {}", in_quotes(*part.time));
  if (!setting.empty())
    throw_error(ExitCode::kData,
                "{}: {} needs the times of the rows, but {}: name the column of the times in data.time, or {}",
                part.table.path(), setting, fault,
                setting.starts_with("data.frequency") ? "remove the key" : "set the key to ignore");
  if (!part.time->empty())
    part.notes.push_back(fmt::format("{}, so the order of the rows in time is not examined", fault));
}

void add_breaks(CsvPart& part, const std::vector<int64_t>& rows_after_gaps) {
  if (rows_after_gaps.empty()) return;
  std::vector<bool> is_after_gap(static_cast<size_t>(part.table.num_rows()));
  for (const int64_t row : rows_after_gaps) is_after_gap[static_cast<size_t>(row)] = true;
  for (int64_t row = 0; row < part.num_rows(); ++row)
    if (const int64_t own = part.table_row(row); own != kNoRow && is_after_gap[static_cast<size_t>(own)])
      part.breaks.push_back(row);
}

// What a row of a series says that is not known ahead.
struct MeasuredColumns {
  std::vector<const NumericColumn*> numbers;  // inputs and targets
  std::vector<int64_t> texts;                 // columns of the table that are categories
  bool has_classes = false;                   // whether the targets are classes

  bool empty() const { return numbers.empty() && texts.empty() && !has_classes; }
};

MeasuredColumns measured_columns(const CsvPart& part, const DataSettings& settings) {
  MeasuredColumns measured;
  for (const NumericColumn& column : part.features)
    if (!is_listed(settings.known, column.name) && !is_listed(settings.static_features, column.name))
      measured.numbers.push_back(&column);
  for (const std::string& name : settings.categories) measured.texts.push_back(part.table.column_index(name));
  // If every input is known ahead, a row without a target is one to forecast like any other.
  if (measured.empty() && part.wanted != Targets::kRequired) return measured;
  measured.has_classes = !part.classes.empty();
  for (const NumericColumn& column : part.targets) measured.numbers.push_back(&column);
  return measured;
}

// The part has its columns in the order of the table.
bool has_no_measured_value(const CsvPart& part, const MeasuredColumns& measured, int64_t row) {
  const auto at = static_cast<size_t>(row);
  if (measured.has_classes && part.classes[at] >= 0) return false;
  return std::ranges::all_of(measured.numbers,
                             [at](const NumericColumn* one) { return std::isnan(one->values[at]); }) &&
         std::ranges::all_of(measured.texts, [&](int64_t column) { return part.table.is_missing(row, column); });
}

// The last rows of a series, which say nothing but what is known ahead.
struct FutureRows {
  std::vector<int64_t> rows;        // up to the first one that follows a gap in time
  std::vector<int64_t> beyond_gap;  // the others of the table
};

// Takes these rows off each series. All rows stay if every column is known ahead.
std::vector<FutureRows> take_future_rows(const CsvPart& part, const DataSettings& settings,
                                         const std::vector<int64_t>& rows_after_gaps, std::vector<SeriesRows>& series) {
  std::vector<FutureRows> taken(series.size());
  const MeasuredColumns measured = measured_columns(part, settings);
  if (settings.known.empty() || measured.empty()) return taken;
  const auto is_future = [&](int64_t row) { return row == kNoRow || has_no_measured_value(part, measured, row); };
  for (size_t i = 0; i < series.size(); ++i) {
    std::vector<int64_t>& rows = series[i].rows;
    const auto end = std::find_if_not(rows.rbegin(), rows.rend(), is_future).base();
    const auto first_after_gap = std::find_first_of(end, rows.end(), rows_after_gaps.begin(), rows_after_gaps.end());
    const auto gap = std::find(end, first_after_gap, kNoRow);
    taken[i].rows.assign(end, gap);
    std::copy_if(gap, rows.end(), std::back_inserter(taken[i].beyond_gap), [](int64_t row) { return row != kNoRow; });
    rows.erase(end, rows.end());
    if (!series[i].times.empty()) series[i].times.resize(rows.size());
  }
  return taken;
}

void note_future_rows(CsvPart& part) {
  int64_t count = 0;
  for (const CsvSeries& series : part.series) count += std::ssize(series.future_rows);
  if (count == 0) return;
  part.notes.push_back(
      fmt::format("{} at the end {} values at most in the columns of data.known, so {} not part of the "
                  "series",
                  counted(count, "row"), count == 1 ? "has" : "have", count == 1 ? "it is" : "they are"));
}

void make_series(CsvPart& part, const DataSettings& settings) {
  std::vector<SeriesRows> series = rows_by_series(part.table, settings.group);
  TimeTreatment treatment;
  if (is_time_examined(part, settings))
    treatment = order_by_time(part.table, *part.time, part.order, series, settings);
  else
    refuse_or_note_no_times(part, settings);
  part.notes.insert(part.notes.end(), treatment.notes.begin(), treatment.notes.end());
  if (!part.order) part.order = treatment.order;
  std::vector<FutureRows> future = take_future_rows(part, settings, treatment.rows_after_gaps, series);
  take_rows_of(part, series);
  for (size_t i = 0; i < future.size(); ++i) {
    part.series[i].future_rows = std::move(future[i].rows);
    part.series[i].rows_beyond_gap = std::move(future[i].beyond_gap);
  }
  note_future_rows(part);
  add_breaks(part, treatment.rows_after_gaps);
}

void note_booleans(CsvPart& part) {
  std::vector<std::string> names;
  for (const auto* columns : {&part.features, &part.targets})
    for (const NumericColumn& column : *columns)
      if (column.is_boolean) add_once(names, in_quotes(column.name));
  if (!names.empty())
    part.notes.push_back(fmt::format("true and false are the numbers 1 and 0 in {}", join_with_and(names)));
}

void refuse_names_of_derived(const CsvTable& table, const std::vector<std::string>& names,
                             const std::vector<std::string>& derived) {
  const auto found = std::ranges::find_if(names, [&](const std::string& name) { return is_listed(derived, name); });
  if (found == names.end()) return;
  throw_error(ExitCode::kData,
              "{}: column {} has the name of an input that data.known, data.calendar or data.gaps makes; rename the "
              "column, or leave it out of data.features and data.known",
              table.path(), in_quotes(*found));
}

const NumericColumn& column_named(const std::vector<NumericColumn>& columns, const std::string& name) {
  return *std::ranges::find(columns, name, &NumericColumn::name);
}

// Returns the column of the times as CsvPart::time. The settings may name it, also for a run of an earlier version.
std::optional<std::string> time_column(const CsvTable& table, const DataSettings& settings, const CsvLayout* like) {
  if (!settings.time.empty()) return settings.time;
  if (like != nullptr && (like->time || setting_that_needs_times(settings).empty())) return like->time;
  return find_time_column(table, settings);
}

}  // namespace

namespace {

void require_all_columns(const CsvTable& table, const DataSettings& settings) {
  require_columns(table, "data.features", settings.features);
  require_columns(table, "data.id", settings.id);
  if (!settings.group.empty()) require_columns(table, "data.group", {settings.group});
  require_columns(table, "data.categories", settings.categories);
  require_columns(table, "data.known", settings.known);
  require_columns(table, "data.static", settings.static_features);
  if (!settings.time.empty()) require_columns(table, "data.time", {settings.time});
}

// With data.known a missing value is refused later: rows after the end have none.
void read_features(CsvPart& part, const DataSettings& settings, const CsvLayout* like) {
  std::vector<std::string> names =
      like != nullptr ? like->features : feature_names(part.table, settings, csv_task(settings), part.notes);
  const std::vector<std::string> derived = derived_names(settings);
  std::erase_if(names, [&](const std::string& name) {
    return is_listed(settings.categories, name) || (like != nullptr && is_listed(derived, name));
  });
  for (const auto* more : {&settings.known, &settings.static_features})
    for (const std::string& name : *more) add_once(names, name);
  refuse_names_of_derived(part.table, names, derived);
  const bool refuses_missing = settings.missing == MissingPolicy::kError && settings.known.empty();
  part.features = numbers(part.table, names, refuses_missing ? MissingPolicy::kError : MissingPolicy::kDrop);
  for (const std::string& name : settings.known) part.known.push_back(column_named(part.features, name));
}

}  // namespace

namespace {

// Returns the row of the series whose value differs from the first known one, which is copied to rows without a value
// if no row does.
std::optional<int64_t> settle_static(NumericColumn& column, const CsvSeries& series) {
  double known = std::numeric_limits<double>::quiet_NaN();
  const auto begin = column.values.begin() + series.rows.begin, end = column.values.begin() + series.rows.end;
  for (auto value = begin; value != end; ++value) {
    if (std::isnan(known)) known = *value;
    if (!std::isnan(*value) && *value != known) return value - column.values.begin();
  }
  std::replace_if(
      begin, end, [](double value) { return std::isnan(value); }, known);
  return std::nullopt;
}

// Columns of data.static have one value in each series.
void settle_static_features(CsvPart& part, const DataSettings& settings) {
  for (NumericColumn& column : part.features) {
    if (!is_listed(settings.static_features, column.name)) continue;
    for (const CsvSeries& series : part.series) {
      const auto row = settle_static(column, series);
      if (!row) continue;
      part.table.fail_at(part.table_row(*row), part.table.column_index(column.name),
                         fmt::format("got {}, but the rows above it in the series {} have another value: a column of "
                                     "data.static is constant within a series; name it in data.features instead",
                                     column.values[static_cast<size_t>(*row)], in_quotes(series.name)));
    }
    column.num_missing = std::ranges::count_if(column.values, [](double value) { return std::isnan(value); });
  }
}

}  // namespace

CsvPart read_csv_part(CsvTable table, const DataSettings& settings, const CsvLayout* like, Targets wanted) {
  CsvPart part;
  part.table = std::move(table);
  part.wanted = wanted;
  const bool needs_targets = wanted == Targets::kRequired || has_any_column(part.table, settings.target);
  if (needs_targets) require_columns(part.table, "data.target", settings.target);
  require_all_columns(part.table, settings);
  read_features(part, settings, like);
  if (needs_targets) read_targets(part, settings, like);
  note_booleans(part);
  part.is_of_old_run = like != nullptr && !like->time;
  part.time = time_column(part.table, settings, like);
  if (like != nullptr) part.order = like->order;
  make_series(part, settings);
  settle_static_features(part, settings);
  if (!settings.known.empty()) {
    require_features(part, settings);
    require_targets(part, settings);
  }
  return part;
}

std::map<std::string, double> column_means(const CsvPart& part, const std::vector<int64_t>& rows) {
  std::map<std::string, double> means;
  for (const auto* columns : {&part.features, &part.targets})
    for (const NumericColumn& column : *columns)
      if (const auto mean = mean_over(column.values, rows)) means.emplace(column.name, *mean);
  return means;
}

namespace {

[[noreturn]] void refuse_first_row(const CsvPart& part, const CsvSeries& series, int64_t row,
                                   const std::string& column) {
  part.table.fail_at(
      part.table_row(row), part.table.column_index(column),
      fmt::format("the first row of the {}{} has no value, and no previous row to copy it from; fill it, or use "
                  "data.missing: drop, mean or zero",
                  series.name.empty() ? "file" : "series " + in_quotes(series.name),
                  row == series.rows.begin ? "" : " after a gap in time"));
}

void fill_with_previous(NumericColumn& column, const CsvPart& part) {
  for (const CsvSeries& series : part.series)
    for (int64_t row = series.rows.begin; row < series.rows.end; ++row) {
      double& value = column.values[static_cast<size_t>(row)];
      if (!std::isnan(value)) continue;
      if (row == series.rows.begin || part.has_break(row - 1, row)) refuse_first_row(part, series, row, column.name);
      value = column.values[static_cast<size_t>(row - 1)];
    }
}

}  // namespace

void fill_missing(CsvPart& part, MissingPolicy policy, const std::map<std::string, double>& means) {
  for (NumericColumn& column : part.features) {
    if (column.num_missing == 0) continue;
    if (policy == MissingPolicy::kPrevious) fill_with_previous(column, part);
    if (policy == MissingPolicy::kMean) fill_with(mean_of_column(means, column.name, part.table.path()), column);
    if (policy == MissingPolicy::kZero) fill_with(0, column);
  }
}

}  // namespace rnnlab
