// SPDX-License-Identifier: Apache-2.0
// Losses whose outputs describe a distribution of each target instead of a value. A distribution says how many numbers
// the model gives for a target, what the loss of a target is, and which forecasts follow: a point, which predictions
// and errors are of, and quantiles, which intervals are of. A new one is a record in distributions.cpp and a loss in
// losses.cpp. Left out: mixtures, and distributions of several targets together.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace rnnlab {

// What the functions of a distribution need besides outputs and targets, on their device.
struct ForecastTerms {
  std::vector<double> levels;  // (L), ascending, within 0 to 1: of the quantiles; 0.5 is one of them
  at::Tensor level_tensor;     // the same, float64
  at::Tensor offsets = {};     // (K) float64: targets are (value - offset) / scale; undefined if they are not scaled
  at::Tensor scales = {};      // (K) float64

  int64_t place_of_median() const;
};

// Returns nothing for no levels, which are those of a loss without a distribution.
ForecastTerms forecast_terms(const std::vector<double>& levels, const std::vector<ColumnScale>& target_scales,
                             c10::Device device);

// Numbers are (..., K, P): P numbers that the model gives for each of K targets. Targets and forecasts are scaled as in
// training, and have the type of the numbers.
struct Distribution {
  // Returns P for this number of levels.
  int64_t (*num_parameters)(int64_t num_levels);

  // Returns (..., K): the loss of each target.
  at::Tensor (*losses)(const at::Tensor& numbers, const at::Tensor& targets, const ForecastTerms& terms);

  // Returns (..., K).
  at::Tensor (*point)(const at::Tensor& numbers, const ForecastTerms& terms);

  // Returns (..., K, L), ascending along L.
  at::Tensor (*quantiles)(const at::Tensor& numbers, const ForecastTerms& terms);

  bool is_of_counts = false;  // targets must be at least 0 in their own units
};

// The numbers are the quantiles themselves. The loss is twice the mean pinball loss over the levels, which for the
// level 0.5 alone is the absolute error. Source: Koenker and Bassett, Regression Quantiles (1978). Quantiles that cross
// are brought into order: Chernozhukov, Fernandez-Val and Galichon, Quantile and Probability Curves without Crossing
// (2010). The point is the median.
extern const Distribution kQuantileForecast;

// A mean and a deviation: m, softplus(s) + 1e-4. The loss is the negative log likelihood, and the point the mean.
extern const Distribution kGaussianForecast;

// Student's t with a location, a scale as above and 2 + softplus(d) degrees of freedom, so that the variance is finite.
extern const Distribution kStudentForecast;

// The rate exp(r) times the usual value of the target (the larger of offset and scale). Targets count in their own
// units, whatever their scaling. The point is the rate, and quantiles are whole numbers.
extern const Distribution kPoissonForecast;

}  // namespace rnnlab
