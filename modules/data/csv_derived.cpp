// SPDX-License-Identifier: Apache-2.0
#include "data/csv_derived.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/csv_dates.h"
#include "data/readers/rows.h"
#include "data/readers/times.h"

namespace rnnlab {
namespace {

constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

// The moment of a row as the calendar counts it.
struct Moment {
  std::chrono::year_month_day date;
  std::chrono::weekday weekday;
  std::chrono::hh_mm_ss<std::chrono::microseconds> time;

  static Moment of(int64_t microseconds) {
    const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(microseconds)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    return {day, std::chrono::weekday(day), std::chrono::hh_mm_ss(time - day)};
  }
};

// Returns where the moment is in its period, from 0 to below 1.
double phase_of(const Moment& moment, CalendarPhase phase) {
  const auto hours = static_cast<double>(moment.time.hours().count());
  switch (phase) {
    case CalendarPhase::kMinute:
      return static_cast<double>(moment.time.minutes().count()) / 60;
    case CalendarPhase::kHour:
      return hours / 24;
    case CalendarPhase::kWeekday:
      return (moment.weekday.iso_encoding() - 1) / 7.0;
    case CalendarPhase::kDay:
      return (static_cast<unsigned>(moment.date.day()) - 1) / 31.0;
    case CalendarPhase::kMonth:
      return (static_cast<unsigned>(moment.date.month()) - 1) / 12.0;
  }
  RNNLAB_INVARIANT(false, "an unknown phase of the calendar");
}

const NumericColumn& feature_named(const CsvPart& part, const std::string& name) {
  const auto found = std::ranges::find(part.features, name, &NumericColumn::name);
  RNNLAB_INVARIANT(found != part.features.end(), "a column of data.known is an input");
  return *found;
}

double filled(double value, double before, const NumericColumn& column, const CsvPart& part, MissingPolicy policy,
              const std::map<std::string, double>& means) {
  if (!std::isnan(value)) return value;
  if (policy == MissingPolicy::kPrevious) return before;
  if (policy == MissingPolicy::kZero) return 0;
  return policy == MissingPolicy::kMean ? mean_of_column(means, column.name, part.table.path()) : kNotGiven;
}

// Returns the values of a column in the rows of a series and in those after its end.
std::vector<double> values_beyond(const CsvPart& part, const CsvSeries& series, const NumericColumn& of_table,
                                  MissingPolicy policy, const std::map<std::string, double>& means) {
  const std::vector<double>& own = feature_named(part, of_table.name).values;
  std::vector<double> values(own.begin() + series.rows.begin, own.begin() + series.rows.end);
  for (const int64_t row : series.future_rows) {
    const double before = values.empty() ? kNotGiven : values.back();
    values.push_back(filled(of_table.values[static_cast<size_t>(row)], before, of_table, part, policy, means));
  }
  return values;
}

std::vector<NumericColumn> columns_ahead(const CsvPart& part, const NumericColumn& of_table,
                                         const DataSettings& settings, const std::map<std::string, double>& means) {
  std::vector<NumericColumn> columns;
  for (const int64_t horizon : settings.horizon)
    columns.push_back({.name = name_ahead(of_table.name, horizon),
                       .values = std::vector<double>(static_cast<size_t>(part.num_rows()), kNotGiven)});
  for (const CsvSeries& series : part.series) {
    const std::vector<double> values = values_beyond(part, series, of_table, settings.missing, means);
    for (size_t i = 0; i < columns.size(); ++i)
      for (int64_t row = series.rows.begin; row < series.rows.end; ++row) {
        const int64_t ahead = row - series.rows.begin + settings.horizon[i];
        if (ahead >= std::ssize(values)) break;
        columns[i].values[static_cast<size_t>(row)] = values[static_cast<size_t>(ahead)];
      }
  }
  return columns;
}

void limit_known(CsvSeries& series, int64_t num_after_end) {
  const int64_t end = series.rows.end + num_after_end;
  series.known_end = std::min(series.known_end.value_or(end), end);
}

std::vector<int64_t> times_of_rows(CsvPart& part) {
  if (!part.times.empty()) return part.times;
  const bool has_column = part.time && !part.time->empty();
  if (!has_column)
    throw_error(ExitCode::kData,
                "{}: data.calendar needs the times of the rows, but no column has times: name it in "
                "data.time",
                part.table.path());
  const int64_t column = part.table.column_index(*part.time);
  const std::optional<ColumnTimes> found = times_of_column(part.table, column, part.order);
  const std::optional<int64_t> wrong = found ? found->wrong_row : std::optional<int64_t>(0);
  if (wrong)
    part.table.fail_at(
        *wrong, column,
        fmt::format("got {}, expected a time, which data.calendar needs", in_quotes(part.table.value(*wrong, column))));
  if (!part.order) part.order = found->order;
  return at_rows(found->times, part.table_rows(first_rows(part.num_rows())));
}

double on_circle(std::string_view coordinate, CalendarPhase phase, const Moment& moment) {
  const double angle = 2 * std::numbers::pi * phase_of(moment, phase);
  return coordinate == "sin" ? std::sin(angle) : std::cos(angle);
}

using Moments = std::vector<std::optional<Moment>>;

// Adds the phases of the moments of the rows that are later than each row by `shift`.
void add_phases(CsvPart& part, const Moments& moments, int64_t shift, const DataSettings& settings) {
  for (const CalendarPhase phase : settings.calendar)
    for (const std::string_view coordinate : kCoordinates) {
      const std::string name = name_of_phase(coordinate, phase);
      NumericColumn& column =
          part.features.emplace_back(NumericColumn{.name = shift == 0 ? name : name_ahead(name, shift), .values = {}});
      for (const std::optional<Moment>& moment : moments)
        column.values.push_back(moment ? on_circle(coordinate, phase, *moment) : kNotGiven);
    }
}

// Returns the moments of the rows that are later by `shift`. After the end of a series they follow by its step.
Moments moments_ahead(const CsvPart& part, const Moments& moments, int64_t shift, RowDates& dates) {
  Moments ahead;
  for (const CsvSeries& series : part.series)
    for (int64_t row = series.rows.begin + shift; row < series.rows.end + shift; ++row) {
      if (row < series.rows.end) {
        ahead.push_back(moments[static_cast<size_t>(row)]);
        continue;
      }
      const auto time = dates.time_after_end(series, row);
      ahead.push_back(time ? std::optional(Moment::of(*time)) : std::nullopt);
    }
  return ahead;
}

void add_calendar(CsvPart& part, const DataSettings& settings) {
  if (settings.calendar.empty()) return;
  Moments moments;
  for (const int64_t time : times_of_rows(part)) moments.emplace_back(Moment::of(time));
  RowDates dates(part, settings);
  for (const int64_t shift : calendar_shifts(settings))
    add_phases(part, moments_ahead(part, moments, shift, dates), shift, settings);
  add_phases(part, moments, 0, settings);
  if (!has_calendar_ahead(settings)) return;
  for (CsvSeries& series : part.series)
    if (!dates.time_after_end(series, series.rows.end + settings.horizon.back() - 1)) limit_known(series, 0);
}

void add_mask(CsvPart& part, const DataSettings& settings) {
  if (settings.gaps != Gaps::kMask) return;
  NumericColumn& mask = part.features.emplace_back(NumericColumn{.name = std::string(kObserved), .values = {}});
  for (int64_t row = 0; row < part.num_rows(); ++row) mask.values.push_back(part.table_row(row) == kNoRow ? 0 : 1);
}

}  // namespace

void add_derived(CsvPart& part, const DataSettings& settings, const std::map<std::string, double>& means) {
  for (const NumericColumn& of_table : part.known)
    for (NumericColumn& column : columns_ahead(part, of_table, settings, means))
      part.features.push_back(std::move(column));
  if (!part.known.empty())
    for (CsvSeries& series : part.series) limit_known(series, std::ssize(series.future_rows));
  add_calendar(part, settings);
  add_mask(part, settings);
}

std::vector<Scaling> derived_scalings(const CsvPart& part, const std::vector<Scaling>& features,
                                      const DataSettings& settings) {
  std::vector<Scaling> scalings;
  for (const NumericColumn& of_table : part.known) {
    const auto index = static_cast<size_t>(&feature_named(part, of_table.name) - part.features.data());
    scalings.insert(scalings.end(), settings.horizon.size(), features[index]);
  }
  scalings.resize(derived_names(settings).size());
  return scalings;
}

}  // namespace rnnlab
