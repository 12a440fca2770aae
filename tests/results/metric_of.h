// SPDX-License-Identifier: Apache-2.0
// Computes a metric of scores by its name, for tests.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <variant>

#include "results/metrics.h"

namespace rnnlab::testing {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

inline MetricResult result_of(const std::string& name, const PartScores& part) {
  const MetricInfo& metric = *find_metric(name);
  EXPECT_TRUE(metric.suits(part.task));
  return std::get<OfScores>(metric.compute)(part);
}

inline double metric_of(const std::string& name, const PartScores& part) {
  const MetricResult result = result_of(name, part);
  EXPECT_EQ(result.reason, "");
  return result.value.value();
}

inline std::string reason_of(const std::string& name, const PartScores& part) {
  const MetricResult result = result_of(name, part);
  EXPECT_FALSE(result.value);
  return result.reason;
}

}  // namespace rnnlab::testing
