// SPDX-License-Identifier: Apache-2.0
// Dates and times in the cells of a table, and the order of rows in time. The common forms are read: ISO 8601, dates by
// day or month first, also as 20240131, names of months, quarters and weeks; and, in a column that is named as a time,
// seconds or milliseconds since 1970 and the days of spreadsheets. Words of other languages are not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers/csv.h"

namespace rnnlab {

// The order of day and month in a date such as 01/02/1970.
enum class DateOrder { kMonthFirst, kDayFirst };

// Returns the microseconds from 1970-01-01 to the time of a cell without spaces around it, in UTC if the cell has a
// zone; a period, such as a month, is its first moment. Returns nullopt for other texts, for numbers and for the time
// of a day without a date.
std::optional<int64_t> parse_time(std::string_view cell, DateOrder order = DateOrder::kMonthFirst);

// Returns the microseconds from midnight of a time of the day such as 13:45 or 1:45 pm.
std::optional<int64_t> parse_time_of_day(std::string_view cell);

// Returns whether a word of the name is one for times, as in "time", "Date" and "start_time".
bool is_name_of_time(std::string_view name);

// The times of the rows of a column, in microseconds; or the first row whose cell is not a time like the others.
struct ColumnTimes {
  std::vector<int64_t> times;
  std::optional<int64_t> wrong_row = {};
  // The order of day and month, if the cells have dates that another order reads as others, or as none.
  std::optional<DateOrder> order = {};
  // Whether they are hardly meant as inputs: the column is named as a time, or has dates in digits such as 20240131.
  bool are_hardly_inputs = false;
};

// Returns nullopt if the first cells of the column that are not missing are not times. The times of the day in a column
// beside that of the date, such as `hour` or 12:30, are added, and to a year the columns `month`, `quarter` and `day`.
// Dates are read by `order` if all of them can be: the order of another file of the same kind. By default the rows
// tell.
std::optional<ColumnTimes> times_of_column(const CsvTable& table, int64_t column, std::optional<DateOrder> order = {});

// Steps in time between rows that follow each other. Two rows with the same time have no step.
struct TimeSteps {
  int64_t num_backwards = 0;     // rows that are earlier than the row before
  int64_t num_repeated = 0;      // rows with the time of another row of the series
  int64_t num_gaps = 0;          // steps longer than one and a half usual steps, after sorting
  int64_t num_short = 0;         // steps shorter than half the usual step, after sorting
  int64_t num_steps = 0;         // after sorting
  int64_t usual_step = 0;        // the median, in microseconds
  bool is_newest_first = false;  // whether every step goes backwards
  std::optional<int64_t> first_backwards, first_repeated, first_gap, first_short;  // places in the rows given

  bool is_in_order() const { return num_backwards == 0; }
  bool is_regular() const { return num_gaps == 0 && num_short == 0; }
  // Returns whether so many steps differ that there is no usual one.
  bool has_no_frequency() const { return 5 * (num_gaps + num_short) > num_steps; }
};

// Returns the places of `times` in the order of time; equal times keep their order.
std::vector<int64_t> places_in_order(std::span<const int64_t> times);

// Returns for each place whether the step to it from the place before is not the usual one, the median. Steps have no
// direction. If no time is at a weekend, weekends take no time.
struct Irregular {
  std::vector<bool> is_long, is_short;
  int64_t usual_step = 0;
};
Irregular irregular_steps(std::span<const int64_t> times);

// Examines the times of one series, in the order of the file.
TimeSteps examine_times(std::span<const int64_t> times);

// Returns "1 hour", "7 days", "3 months".
std::string duration_text(int64_t microseconds);

}  // namespace rnnlab
