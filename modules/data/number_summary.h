// Range, mean and standard deviation of numbers, those that are not finite counted apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <ranges>

namespace rnnlab {

class NumberSummary {
 public:
  template <std::ranges::range Values>
  static NumberSummary of(const Values& values) {
    NumberSummary summary;
    for (const auto value : values) summary.add(static_cast<double>(value));
    return summary;
  }

  void add(double value) {
    if (!std::isfinite(value)) {
      ++num_not_finite_;
      return;
    }
    ++count_;
    const double deviation = value - mean_;
    mean_ += deviation / static_cast<double>(count_);
    squares_ += deviation * (value - mean_);
    minimum_ = std::min(minimum_, value);
    maximum_ = std::max(maximum_, value);
  }

  // Adds minimum, maximum, mean and standard_deviation to `json`, and not_finite where there are such.
  void write(nlohmann::ordered_json& json) const {
    if (count_ > 0) {
      json["minimum"] = minimum_;
      json["maximum"] = maximum_;
      json["mean"] = mean_;
      json["standard_deviation"] = std::sqrt(squares_ / static_cast<double>(count_));
    }
    if (num_not_finite_ > 0) json["not_finite"] = num_not_finite_;
  }

 private:
  int64_t count_ = 0;
  int64_t num_not_finite_ = 0;
  double mean_ = 0;
  double squares_ = 0;
  double minimum_ = std::numeric_limits<double>::infinity();
  double maximum_ = -std::numeric_limits<double>::infinity();
};

}  // namespace rnnlab
