// From samples to numbers: the times of the three programs and of their differences, with intervals. A process gives
// one number, the median of its samples; several processes give the mean of theirs, with the interval of that mean. The
// intervals of one process are of its samples and say nothing of another process. Pure functions.
#pragma once

#include <vector>

#include "results/geometric_mean.h"

namespace rnnlab {

// A number with its 95 % interval; with fewer than 6 samples of one process, and with 2 processes, it is their range.
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

Estimate estimate_of(const MeanEstimate& mean);

// Of one process: seconds of one iteration, round by round; equally many of each. By the programs of laboratory.h.
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

// Of at least one process. The mean over several is geometric for the programs, and arithmetic for the differences.
PartTimes part_times(const std::vector<Samples3>& processes);

// How many times as fast as `base` the i-th process was with `own`, by one program: paired by process, which measured
// both in turn. As many processes of each, at least one.
Estimate speedup(const std::vector<Samples3>& base, const std::vector<Samples3>& own,
                 std::vector<double> Samples3::*program);

// median(whole) - median(part) of one process, of any sign. Rounds are resampled whole (10,000 times, fixed seed), so
// that what slowed down both samples of a round counts once: a percentile bootstrap (Efron and Tibshirani, 1993,
// chapter 13).
Estimate difference(const std::vector<double>& whole, const std::vector<double>& part);

// Each part's number of each process.
struct PartValues {
  std::vector<double> forward, backward_data, backward_weights, total;
};
PartValues part_values(const std::vector<Samples3>& processes);

}  // namespace rnnlab
