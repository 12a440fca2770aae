// SPDX-License-Identifier: Apache-2.0
// Statistics of numbers, scalings that are fitted to them, and the application of scalings to the inputs of one sample.
// Resident and mapped inputs are scaled by the same code, so their values are equal bit for bit. This header does not
// depend on tensors or files.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"

namespace rnnlab {

enum class Normalization { kAutomatic, kNone, kUnit, kStandard, kMinMax, kColumnMinMax };

inline constexpr int64_t kLargestByte = 255;

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

// Returns whether the normalization has values that are fitted to each feature, or to each column of a table.
inline bool is_fitted(Normalization how) { return how == Normalization::kStandard || how == Normalization::kMinMax; }

// Return the scaling that kStandard (to mean 0 and deviation 1 of the population) or kMinMax (onto 0 to 1) has for
// these numbers. NaN is left out of values.
Scaling fit(const Moments& moments, Normalization how);
Scaling fit(std::span<const double> values, Normalization how);

// Scales the inputs of samples with the same number of features.
class InputScaling {
 public:
  InputScaling() = default;  // leaves the inputs as they are

  // `features` are the fitted values of kStandard and kMinMax, one a feature. kUnit divides by `byte_maximum`. `how` is
  // not kAutomatic.
  InputScaling(Normalization how, const std::vector<Scaling>& features, int64_t num_features,
               int64_t byte_maximum = kLargestByte);

  // Returns whether the inputs stay as they are.
  bool is_identity() const { return how_ == Normalization::kNone; }

  // Scales the steps (L, F) of one sample in place.
  void apply(std::span<float> steps) const;

 private:
  // Offsets and scales of the features, repeated so that a loop over them is long enough for vector instructions.
  struct Period {
    std::vector<double> offsets, scales;

    void repeat_first(size_t num_features);
    void apply(std::span<float> steps) const;
  };

  Period fitted_to_columns(std::span<const float> steps) const;

  Normalization how_ = Normalization::kNone;
  size_t num_features_ = 0;
  Period period_;  // empty for kNone and kColumnMinMax
};

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::Normalization> {
  static constexpr std::array<std::pair<rnnlab::Normalization, std::string_view>, 6> kNames = {
      {{rnnlab::Normalization::kAutomatic, "auto"},
       {rnnlab::Normalization::kNone, "none"},
       {rnnlab::Normalization::kUnit, "unit"},
       {rnnlab::Normalization::kStandard, "standard"},
       {rnnlab::Normalization::kMinMax, "minmax"},
       {rnnlab::Normalization::kColumnMinMax, "column_minmax"}}};
};
