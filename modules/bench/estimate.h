// From samples to numbers: the medians of the three programs and of their differences, with intervals. Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "results/statistics.h"

namespace rnnlab {

// A number with the interval that covers it with 95 %; with fewer than 6 samples it is only their range.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("value", self.value);
    field("low", self.low);
    field("high", self.high);
  }
};

// Seconds of one iteration, round by round; equally many of each. By the programs of laboratory.h.
struct Samples3 {
  std::vector<double> forward;
  std::vector<double> forward_data;
  std::vector<double> all;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("forward", self.forward);
    field("forward_data", self.forward_data);
    field("all", self.all);
  }
};

// The parts of a training step of the layer, in seconds.
struct PartTimes {
  Estimate forward;
  Estimate backward_data;     // forward_data - forward
  Estimate backward_weights;  // all - forward_data
  Estimate total;             // all

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("forward", self.forward);
    field("backward_data", self.backward_data);
    field("backward_weights", self.backward_weights);
    field("total", self.total);
  }
};

PartTimes part_times(const Samples3& samples);

// median(numerator) / median(denominator).
Estimate ratio(const std::vector<double>& numerator, const std::vector<double>& denominator);

// median(whole) - median(part), never mind the sign. Rounds are resampled whole (10,000 times, fixed seed), so that
// what slowed down both samples of a round counts once: a percentile bootstrap (Efron and Tibshirani, 1993, chapter
// 13).
Estimate difference(const std::vector<double>& whole, const std::vector<double>& part);

// The same for difference(whole, part) of two measurements, by their ratio; nothing where the second may be zero or
// less.
struct Difference {
  const std::vector<double>& whole;
  const std::vector<double>& part;
};
std::optional<Estimate> ratio(const Difference& numerator, const Difference& denominator);

}  // namespace rnnlab
