// What `data inspect` says of numbers: range, mean and standard deviation, those that are not finite counted apart.
// Goes into JSON.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ranges>

#include "data/moments.h"

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
    if (std::isfinite(value)) {
      finite_.add(value);
    } else {
      ++num_not_finite_;
    }
  }

  // Adds minimum, maximum, mean and standard_deviation to `json`, and not_finite where there are such.
  void write(nlohmann::ordered_json& json) const {
    if (finite_.count() > 0) {
      json["minimum"] = finite_.minimum();
      json["maximum"] = finite_.maximum();
      json["mean"] = finite_.mean();
      json["standard_deviation"] = finite_.standard_deviation();
    }
    if (num_not_finite_ > 0) json["not_finite"] = num_not_finite_;
  }

 private:
  Moments finite_;
  int64_t num_not_finite_ = 0;
};

}  // namespace rnnlab
