// SPDX-License-Identifier: Apache-2.0
#include "data/readers/time_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/numbers.h"
#include "data/readers/time_units.h"
#include "data/readers/times.h"

namespace rnnlab {
namespace {

struct StepUnit {
  std::string_view name;
  TimeStep step;
};

constexpr std::array<StepUnit, 9> kStepUnits = {{{"y", {.months = 12}},
                                                 {"q", {.months = 3}},
                                                 {"mo", {.months = 1}},
                                                 {"w", {.microseconds = 7 * kDay}},
                                                 {"b", {.microseconds = kDay, .skips_weekends = true}},
                                                 {"d", {.microseconds = kDay}},
                                                 {"h", {.microseconds = kHour}},
                                                 {"min", {.microseconds = kMinute}},
                                                 {"s", {.microseconds = kSecond}}}};

// A moment as its month, counted from the year 0, its day in it from 1, and the rest.
struct MonthAndDay {
  int64_t month = 0;
  int64_t day = 1;
  int64_t time_of_day = 0;
};

std::chrono::year_month month_of(int64_t month) {
  const int64_t year = floor_divided(month, 12);
  return std::chrono::year(static_cast<int>(year)) / static_cast<int>(month - 12 * year + 1);
}

MonthAndDay month_and_day(int64_t time) {
  const int64_t day = floor_divided(time, kDay);
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  const auto year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  return {int64_t{12} * year + month - 1, static_cast<unsigned>(date.day()), time - day * kDay};
}

int64_t last_day_of(int64_t month) {
  const std::chrono::year_month_day_last last{month_of(month) / std::chrono::last};
  return static_cast<unsigned>(last.day());
}

int64_t joined(const MonthAndDay& moment) {
  const std::chrono::sys_days day = month_of(moment.month) / static_cast<int>(moment.day);
  return day.time_since_epoch().count() * kDay + moment.time_of_day;
}

// Returns whether at least four fifths of the steps are whole numbers of this one.
bool fits_most(const TimeStep& step, std::span<const int64_t> times) {
  const TimeGrid grid(step, times);
  int64_t num_fitting = 0;
  for (size_t i = 1; i < times.size(); ++i) num_fitting += grid.steps_between(times[i - 1], times[i]).has_value();
  return 5 * num_fitting >= 4 * (std::ssize(times) - 1);
}

}  // namespace

std::optional<TimeStep> parse_time_step(std::string_view text) {
  constexpr int64_t kMost = 1'000'000;
  const size_t digits = std::min(text.size(), text.find_first_not_of("0123456789"));
  const auto count = parse_int64(std::string(text.substr(0, digits)));
  const auto unit = std::ranges::find(kStepUnits, text.substr(digits), &StepUnit::name);
  if (!count || *count < 1 || *count > kMost || unit == kStepUnits.end()) return std::nullopt;
  constexpr int64_t kMostMonths = 1'200, kMostDays = 36'600;
  const TimeStep step = {.microseconds = unit->step.microseconds * *count,
                         .months = unit->step.months * *count,
                         .skips_weekends = unit->step.skips_weekends};
  if (step.months > kMostMonths || step.microseconds > kMostDays * kDay) return std::nullopt;
  return step;
}

std::string step_text(const TimeStep& step) {
  for (const auto& [name, unit] : kStepUnits) {
    if (unit.skips_weekends != step.skips_weekends || (unit.months > 0) != (step.months > 0)) continue;
    const int64_t size = unit.months > 0 ? unit.months : unit.microseconds;
    const int64_t whole = unit.months > 0 ? step.months : step.microseconds;
    if (whole % size == 0) return fmt::format("{}{}", whole / size, name);
  }
  return duration_text(step.microseconds);
}

std::optional<TimeStep> usual_time_step(std::span<const int64_t> times) {
  return examine_times(times).has_no_frequency() ? std::nullopt : median_time_step(times);
}

std::optional<TimeStep> median_time_step(std::span<const int64_t> times) {
  constexpr int64_t kLeastMonth = 28 * kDay;
  constexpr double kDaysOfMonth = 30.436875;
  const TimeSteps steps = examine_times(times);
  if (steps.usual_step == 0) return std::nullopt;
  const auto days = static_cast<double>(steps.usual_step) / static_cast<double>(kDay);
  const TimeStep months{.months = std::max<int64_t>(std::llround(days / kDaysOfMonth), 1)};
  if (steps.usual_step >= kLeastMonth && fits_most(months, times)) return months;
  const bool skips = times.back() - times.front() >= 7 * kDay && steps.usual_step <= 3 * kDay &&
                     std::ranges::none_of(times, is_at_weekend);
  return TimeStep{.microseconds = steps.usual_step, .skips_weekends = skips};
}

TimeGrid::TimeGrid(const TimeStep& step, std::span<const int64_t> times) : step_(step) {
  if (step.months == 0 || times.empty()) return;
  int64_t latest = 1;
  bool are_last_days = true;
  for (const int64_t time : times) {
    const MonthAndDay moment = month_and_day(time);
    latest = std::max(latest, moment.day);
    are_last_days = are_last_days && moment.day == last_day_of(moment.month);
  }
  if (!are_last_days) day_of_month_ = latest;
}

int64_t TimeGrid::after(int64_t time, int64_t count) const {
  if (step_.skips_weekends) return with_weekends(without_weekends(time) + count * step_.microseconds);
  if (step_.months == 0) return time + count * step_.microseconds;
  MonthAndDay moment = month_and_day(time);
  moment.month += count * step_.months;
  moment.day = std::min(day_of_month_, last_day_of(moment.month));
  return joined(moment);
}

std::optional<int64_t> TimeGrid::steps_between(int64_t from, int64_t to) const {
  int64_t way = to - from, size = step_.microseconds;
  if (step_.skips_weekends) way = without_weekends(to) - without_weekends(from);
  if (step_.months > 0) {
    way = month_and_day(to).month - month_and_day(from).month;
    size = step_.months;
  }
  if (way <= 0 || way % size != 0 || after(from, way / size) != to) return std::nullopt;
  return way / size;
}

}  // namespace rnnlab
