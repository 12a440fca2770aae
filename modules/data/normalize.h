// SPDX-License-Identifier: Apache-2.0
// Scales inputs (N, T, F) in place. Steps beyond a sample's length are neither read nor changed. Targets are not scaled
// here: csv_source.cpp scales them column by column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace rnnlab {

// Count, range, mean and standard deviation of a stream of numbers (Welford 1962), in one pass and without loss of
// digits if the mean is far from 0. The numbers must be finite.
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
  // Returns the deviation of the population; 0 if there are no numbers.
  double standard_deviation() const { return std::sqrt(squares_ / static_cast<double>(std::max<int64_t>(count_, 1))); }
  // The minimum is infinity and the maximum -infinity if there are no numbers.
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

// Returns whether the normalization has values that are fitted to each feature, or to each column of a table.
inline bool is_fitted(Normalization how) { return how == Normalization::kStandard || how == Normalization::kMinMax; }

struct Normalized {
  std::string note;               // a sentence about the scaling; "" for kNone
  std::vector<Scaling> features;  // the fitted values, one a feature; empty if nothing was fitted
};

// Scales both parts; kStandard and kMinMax are fitted to each feature of the training part. `how` is not kAutomatic.
Normalized normalize(Samples& train, Samples& valid, Normalization how);

// Scales `samples` with `how` and the `features` that an earlier normalize() fitted.
void normalize_as(Samples& samples, Normalization how, const std::vector<Scaling>& features);

}  // namespace rnnlab
