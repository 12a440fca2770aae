// SPDX-License-Identifier: Apache-2.0
#include "data/readers/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/readers/time_units.h"

namespace rnnlab {
namespace {

constexpr std::string_view kDates[] = {
    "%Y-%m-%d",  "%Y/%m/%d",  "%Y.%m.%d",  "%Y%m%d",   "%d/%m/%Y", "%m/%d/%Y", "%e/%n/%Y", "%n/%e/%Y", "%d.%m.%Y",
    "%e.%n.%Y",  "%d-%m-%Y",  "%m-%d-%Y",  "%d/%m/%y", "%m/%d/%y", "%e/%n/%y", "%n/%e/%y", "%d.%m.%y", "%Y-%n-%e",
    "%Y/%n/%e",  "%Y-%m",     "%Y/%m",     "%YM%m",    "%YM%n",    "%m/%Y",    "%n/%Y",    "%b %Y",    "%B %Y",
    "%b-%Y",     "%b-%y",     "%b %y",     "%Y-%b",    "%YQ%Q",    "%Y-Q%Q",   "%Y Q%Q",   "Q%Q %Y",   "Q%Q-%Y",
    "%G-W%V",    "%GW%V",     "%G-W%V-%u", "%d %b %Y", "%e %b %Y", "%d-%b-%Y", "%e-%b-%Y", "%d-%b-%y", "%b %e, %Y",
    "%b %d, %Y", "%B %e, %Y", "%e %B %Y",  "%Y"};

constexpr std::string_view kTimesOfDay[] = {"",         "%H:%M:%S",    "%H:%M",       "%k:%M",
                                            "%k:%M:%S", "%H:%M:%S.%f", "%H:%M:%S.%F", "%i:%M %p",
                                            "%I:%M %p", "%i:%M:%S %p", "%I:%M:%S %p", "%H%M%S"};
constexpr std::string_view kBetween[] = {" ", "T", ", ", ""};

// Seconds, milliseconds, microseconds and nanoseconds since 1970, and the days of spreadsheets.
constexpr std::string_view kNumbers[] = {"%1", "%2", "%3", "%4", "%x"};

std::string name_of_month(unsigned month) {
  std::string name(kMonths[month - 1]);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::string iso_week(std::chrono::sys_days day, char letter) {
  const int64_t weekday = std::chrono::weekday(day).iso_encoding();
  const std::chrono::sys_days thursday = day + std::chrono::days(4 - weekday);
  const std::chrono::year_month_day date(thursday);
  const int64_t week = (thursday - std::chrono::sys_days(date.year() / 1 / 1)).count() / 7 + 1;
  if (letter == 'G') return fmt::format("{:04}", static_cast<int>(date.year()));
  return letter == 'V' ? fmt::format("{:02}", week) : fmt::format("{}", weekday);
}

std::string of_date(std::chrono::sys_days day, char letter) {
  const std::chrono::year_month_day date(day);
  const auto year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month()), day_of_month = static_cast<unsigned>(date.day());
  switch (letter) {
    case 'Y':
      return fmt::format("{:04}", year);
    case 'y':
      return fmt::format("{:02}", year % 100);
    case 'm':
      return fmt::format("{:02}", month);
    case 'n':
      return fmt::format("{}", month);
    case 'd':
      return fmt::format("{:02}", day_of_month);
    case 'e':
      return fmt::format("{}", day_of_month);
    case 'b':
      return name_of_month(month).substr(0, 3);
    case 'B':
      return name_of_month(month);
    case 'Q':
      return fmt::format("{}", (month + 2) / 3);
    case 'G':
    case 'V':
    case 'u':
      return iso_week(day, letter);
    default:
      fail_invariant("a letter of a date", __FILE__, __LINE__, "of_date does not know the letter");
  }
}

std::string of_time_of_day(const std::chrono::hh_mm_ss<std::chrono::microseconds>& time, char letter) {
  const int64_t hour = time.hours().count(), of_half = (hour + 11) % 12 + 1;
  switch (letter) {
    case 'H':
      return fmt::format("{:02}", hour);
    case 'k':
      return fmt::format("{}", hour);
    case 'I':
      return fmt::format("{:02}", of_half);
    case 'i':
      return fmt::format("{}", of_half);
    case 'M':
      return fmt::format("{:02}", time.minutes().count());
    case 'S':
      return fmt::format("{:02}", time.seconds().count());
    case 'f':
      return fmt::format("{:03}", time.subseconds().count() / 1000);
    case 'F':
      return fmt::format("{:06}", time.subseconds().count());
    case 'p':
      return hour < 12 ? "AM" : "PM";
    default:
      fail_invariant("a letter of a time of day", __FILE__, __LINE__, "of_time_of_day does not know the letter");
  }
}

std::string of_number(int64_t time, char letter) {
  constexpr int64_t kOf1970 = 25'569;
  switch (letter) {
    case '1':
      return fmt::format("{}", time / 1'000'000);
    case '2':
      return fmt::format("{}", time / 1'000);
    case '3':
      return fmt::format("{}", time);
    case '4':
      return fmt::format("{}000", time);
    case 'x':
      return fmt::format("{}", time / kDay + kOf1970);
    default:
      fail_invariant("a letter of a number", __FILE__, __LINE__, "of_number does not know the letter");
  }
}

std::string written_by(int64_t microseconds_since_1970, std::string_view pattern) {
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(microseconds_since_1970)};
  const std::chrono::sys_days day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::hh_mm_ss<std::chrono::microseconds> of_day(time - day);
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      text += pattern[i];
      continue;
    }
    const char letter = pattern[++i];
    if (std::string_view("1234x").find(letter) != std::string_view::npos)
      text += of_number(microseconds_since_1970, letter);
    else if (std::string_view("HkIiMSfFp").find(letter) != std::string_view::npos)
      text += of_time_of_day(of_day, letter);
    else
      text += of_date(day, letter);
  }
  return text;
}

// Returns the place where the zone of a cell begins, such as Z, +02:00 or " UTC"; the end of the cell without one.
size_t begin_of_zone(std::string_view cell) {
  for (const std::string_view name : {" UTC", "UTC", " GMT", "Z", "z"})
    if (cell.ends_with(name)) return cell.size() - name.size();
  const size_t sign = cell.find_last_of("+-");
  const size_t colon = cell.find(':');
  const bool follows_time = sign != std::string_view::npos && colon != std::string_view::npos && colon < sign;
  return follows_time ? sign : cell.size();
}

std::vector<std::string> patterns() {
  std::vector<std::string> all(std::begin(kNumbers), std::end(kNumbers));
  for (const std::string_view date : kDates)
    for (const std::string_view time : kTimesOfDay)
      for (const std::string_view between : kBetween)
        if (!time.empty() || between.empty()) all.push_back(fmt::format("{}{}{}", date, between, time));
  return all;
}

// Returns whether a pattern such as %d/%m/%Y has day and month in another order.
bool contradicts(std::string_view pattern, DateOrder order) {
  const size_t day = std::min(pattern.find("%d"), pattern.find("%e"));
  const size_t month = std::min(pattern.find("%m"), pattern.find("%n"));
  const bool begins_with_either = std::min(day, month) == 0 && std::max(day, month) < pattern.size();
  return begins_with_either && (day < month) != (order == DateOrder::kDayFirst);
}

}  // namespace

std::optional<TimeForm> TimeForm::of(std::span<const std::string_view> cells, std::span<const int64_t> times,
                                     std::optional<DateOrder> order) {
  if (cells.empty()) return std::nullopt;
  const std::string_view last = cells.back();
  TimeForm form;
  const size_t end = begin_of_zone(last);
  form.zone_ = last.substr(end);
  const auto local = form.zone_.empty() ? std::nullopt : parse_time(last.substr(0, end));
  if (local) form.ahead_of_utc_ = *local - *parse_time(last);
  const auto writes_all = [&](const std::string& pattern) {
    if (order && contradicts(pattern, *order)) return false;
    form.pattern_ = pattern;
    return form.text(times.back()) == last &&
           std::ranges::equal(cells, times,
                              [&](std::string_view cell, int64_t time) { return cell == form.text(time); });
  };
  const std::vector<std::string> all = patterns();
  if (std::ranges::find_if(all, writes_all) == all.end()) return std::nullopt;
  return form;
}

std::string TimeForm::text(int64_t time) const { return written_by(time + ahead_of_utc_, pattern_) + zone_; }

}  // namespace rnnlab
