// SPDX-License-Identifier: Apache-2.0
// Estimates how long the rest of a sweep takes from the runs that have ended.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rnnlab {

// The estimate of a case that has run before is the mean of its own times. The time of any other case is unknown, so
// it is expected between the shortest and the longest time of the others.
class SweepClock {
 public:
  void record(int64_t case_number, double seconds);

  // `cases` has the case of each run that has not ended. Returns "" before the first run has ended, then for example
  // "3 min 20 s so far, about 10 min 0 s left", "... 8 min 0 s to 15 min 0 s left", or "... about 10 min 0 s left if
  // each run takes as long as the first".
  std::string text(std::span<const int64_t> cases) const;

 private:
  std::map<int64_t, std::vector<double>> seconds_;  // by case
};

}  // namespace rnnlab
