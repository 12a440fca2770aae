// Scaling of inputs (N, T, F), in place. Steps beyond a sample's length are neither looked at nor touched. Targets are
// not scaled here: load_csv.cpp does that column by column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// Count, range, mean and standard deviation of numbers that come one by one (Welford 1962): one pass, and no loss of
// digits where the mean is far from 0. Numbers must be finite.

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

// scaled = (value - offset) / scale. A constant has scale 1, so that it becomes 0 and not NaN.
struct Scaling {
  double offset = 0;
  double scale = 1;
};

Scaling fit_standard(std::span<const double> values);  // mean and standard deviation (of the population)
Scaling fit_minmax(std::span<const double> values);    // onto 0 to 1

struct Normalized {
  std::string note;               // a sentence that says what was done, "" for kNone
  std::vector<Scaling> features;  // what was fitted, one a feature; empty where nothing is
};

// Scales both parts; kStandard and kMinMax are fitted to each feature of the training part. Not kAutomatic.
Normalized normalize(Samples& train, Samples& valid, Normalization how);

// Scales further samples as `features` and `how` once did.
void normalize_as(Samples& samples, Normalization how, const std::vector<Scaling>& features);

}  // namespace rnnlab
