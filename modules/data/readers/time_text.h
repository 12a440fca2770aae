// SPDX-License-Identifier: Apache-2.0
// Writes times in the form of the cells of a column: ISO dates, 31/01/2026, Jan 2026, 2026-W05, seconds since 1970 ...
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/readers/times.h"

namespace rnnlab {

class TimeForm {
 public:
  // Returns the form of these cells, whose times are in microseconds since 1970 (times.h); nullopt if no known form
  // writes all of them. `order` is that of day and month, if it is known.
  static std::optional<TimeForm> of(std::span<const std::string_view> cells, std::span<const int64_t> times,
                                    std::optional<DateOrder> order = {});

  std::string text(int64_t time) const;

  // Returns the microseconds by which the clock of the last cell is ahead of UTC.
  int64_t ahead_of_utc() const { return ahead_of_utc_; }

 private:
  std::string pattern_;       // with a letter after each %
  std::string zone_;          // at the end of each cell
  int64_t ahead_of_utc_ = 0;  // microseconds
};

}  // namespace rnnlab
