// SPDX-License-Identifier: Apache-2.0
// Microseconds since 1970 as days and weekends, and the English names of months.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rnnlab {

inline constexpr int64_t kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

inline constexpr std::array<std::string_view, 12> kMonths = {"january",   "february", "march",    "april",
                                                             "may",       "june",     "july",     "august",
                                                             "september", "october",  "november", "december"};

inline int64_t floor_divided(int64_t number, int64_t by) { return number / by - (number % by < 0 ? 1 : 0); }

inline int64_t day_of(int64_t time) { return floor_divided(time, kDay); }

// 1970-01-01 was a Thursday, so the Monday of its week has the number -3.
inline constexpr int64_t kFirstMonday = -3;

inline bool is_at_weekend(int64_t time) {
  const int64_t day = day_of(time) - kFirstMonday;
  return day - 7 * floor_divided(day, 7) >= 5;
}

// Returns the time without the weekends since 1970, and the time that has these weekends again.
inline int64_t without_weekends(int64_t time) {
  return time - floor_divided(day_of(time) - kFirstMonday, 7) * 2 * kDay;
}
inline int64_t with_weekends(int64_t working) {
  return working + floor_divided(day_of(working) - kFirstMonday, 5) * 2 * kDay;
}

}  // namespace rnnlab
