// SPDX-License-Identifier: Apache-2.0
// Steps in time as people state them, such as 15 minutes, a workday or a month, and the times that follow each other in
// such steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rnnlab {

struct TimeStep {
  int64_t microseconds = 0;     // of a step of fixed length; 0 for months
  int64_t months = 0;           // of the calendar, whose lengths differ
  bool skips_weekends = false;  // whether weekends take no time
};

// Returns the step of a text such as 30s, 15min, 1h, 1d, 1b (a workday), 1w, 1mo, 1q or 1y; nullopt for other texts.
std::optional<TimeStep> parse_time_step(std::string_view text);

// Returns "15min", or "1mo": the text that parse_time_step() reads.
std::string step_text(const TimeStep& step);

// Returns the median step between these times, which ascend, as whole months or workdays where they fit; nullopt if
// there is no step.
std::optional<TimeStep> median_time_step(std::span<const int64_t> times);

// Returns the same, and nullopt if more than a fifth of the steps differ.
std::optional<TimeStep> usual_time_step(std::span<const int64_t> times);

// Times that are whole numbers of steps apart.
class TimeGrid {
 public:
  // `times` say which day of the month a step over months arrives at: the latest day of them, or the last day of each
  // month if all of them are such days.
  TimeGrid(const TimeStep& step, std::span<const int64_t> times);

  const TimeStep& step() const { return step_; }

  // Returns the time that is so many steps after another.
  int64_t after(int64_t time, int64_t count) const;

  // Returns how many steps lead from one time to another, which is later; nullopt if the other is not reached.
  std::optional<int64_t> steps_between(int64_t from, int64_t to) const;

 private:
  TimeStep step_;
  int64_t day_of_month_ = 31;
};

}  // namespace rnnlab
