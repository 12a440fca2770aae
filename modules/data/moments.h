// Count, range, mean and standard deviation of numbers that come one by one (Welford 1962): one pass, and no loss of
// digits where the mean is far from 0. Numbers must be finite.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rnnlab {

class Moments {
 public:
  void add(double value) {
    ++count_;
    const double deviation = value - mean_;
    mean_ += deviation / static_cast<double>(count_);
    squares_ += deviation * (value - mean_);
    minimum_ = std::min(minimum_, value);
    maximum_ = std::max(maximum_, value);
  }

  int64_t count() const { return count_; }
  double mean() const { return mean_; }
  // Of the population; 0 without numbers.
  double standard_deviation() const { return std::sqrt(squares_ / static_cast<double>(std::max<int64_t>(count_, 1))); }
  // Infinite without numbers.
  double minimum() const { return minimum_; }
  double maximum() const { return maximum_; }

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
  double minimum_ = std::numeric_limits<double>::infinity();
  double maximum_ = -std::numeric_limits<double>::infinity();
};

}  // namespace rnnlab
