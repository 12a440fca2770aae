// SPDX-License-Identifier: Apache-2.0
// Losses whose outputs describe a distribution (losses.h).
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/igammac.h>
#include <ATen/ops/lgamma.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/special_ndtri.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "base/error.h"
#include "base/statistics.h"
#include "train/loop/losses.h"

namespace rnnlab {
namespace {

constexpr double kLeastScale = 1e-4;  // of a scaled target: a deviation of 0 has no likelihood
const double kHalfLogOfTwoPi = std::log(2 * std::numbers::pi) / 2;

at::Tensor number(const at::Tensor& numbers, int64_t i) { return numbers.select(-1, i); }

// The second number of a target is its deviation or scale.
at::Tensor scale_of(const at::Tensor& numbers) { return at::softplus(number(numbers, 1)).add(kLeastScale); }

at::Tensor first_number(const at::Tensor& numbers, const ForecastTerms& /*terms*/) { return number(numbers, 0); }

template <int64_t kCount>
int64_t fixed(int64_t /*num_levels*/) {
  return kCount;
}

// ---- quantiles ----

int64_t one_a_level(int64_t num_levels) { return num_levels; }

at::Tensor pinball_losses(const at::Tensor& numbers, const at::Tensor& targets, const ForecastTerms& terms) {
  const at::Tensor levels = terms.level_tensor.to(numbers.scalar_type()), errors = targets.unsqueeze(-1) - numbers;
  return at::maximum(levels * errors, (levels - 1) * errors).mean(-1).mul(2);
}

at::Tensor in_order(const at::Tensor& numbers, const ForecastTerms& /*terms*/) { return std::get<0>(numbers.sort(-1)); }

at::Tensor median(const at::Tensor& numbers, const ForecastTerms& terms) {
  return number(in_order(numbers, terms), terms.place_of_median());
}

// ---- a mean and a deviation ----

at::Tensor gaussian_losses(const at::Tensor& numbers, const at::Tensor& targets, const ForecastTerms& /*terms*/) {
  const at::Tensor scale = scale_of(numbers), errors = (targets - number(numbers, 0)) / scale;
  return scale.log() + errors.square() / 2 + kHalfLogOfTwoPi;
}

at::Tensor gaussian_quantiles(const at::Tensor& numbers, const ForecastTerms& terms) {
  const at::Tensor deviates = at::special_ndtri(terms.level_tensor).to(numbers.scalar_type());
  return number(numbers, 0).unsqueeze(-1) + scale_of(numbers).unsqueeze(-1) * deviates;
}

// ---- Student's t ----

constexpr double kLeastDegrees = 2;

at::Tensor degrees_of_freedom(const at::Tensor& numbers) { return at::softplus(number(numbers, 2)).add(kLeastDegrees); }

at::Tensor student_losses(const at::Tensor& numbers, const at::Tensor& targets, const ForecastTerms& /*terms*/) {
  const at::Tensor scale = scale_of(numbers), degrees = degrees_of_freedom(numbers);
  const at::Tensor squares = ((targets - number(numbers, 0)) / scale).square();
  const at::Tensor log_norm =
      at::lgamma(degrees / 2) - at::lgamma((degrees + 1) / 2) + (degrees * std::numbers::pi).log() / 2;
  return log_norm + scale.log() + (degrees + 1) / 2 * at::log1p(squares / degrees);
}

constexpr int64_t kPlaces = 1025;  // of a table, for an error below 1e-5 of a quantile

double normal_quantile(double level) { return at::special_ndtri(at::tensor({level}, at::kDouble)).item<double>(); }

at::Tensor make_table(double level) {
  at::Tensor table = at::empty({kPlaces}, at::kDouble);
  auto* const values = table.mutable_data_ptr<double>();
  values[0] = normal_quantile(level);
  for (int64_t i = 1; i < kPlaces; ++i)
    values[i] = student_t_quantile(level, kLeastDegrees * static_cast<double>(kPlaces - 1) / static_cast<double>(i));
  return table;
}

// Returns the quantile of a level by 1 / (degrees of freedom), from 0, which is the normal distribution. A table takes
// some milliseconds, so it is made once.
at::Tensor table_of_quantiles(double level) {
  static std::mutex mutex;
  static std::map<double, at::Tensor> tables;
  const std::scoped_lock lock(mutex);
  at::Tensor& table = tables[level];
  if (!table.defined()) table = make_table(level);
  return table;
}

// Returns the quantile of one level for each number of degrees of freedom, interpolated in a table.
at::Tensor student_deviates(const at::Tensor& degrees, double level) {
  const at::Tensor table = table_of_quantiles(level).to(degrees.device());
  const at::Tensor places = (kLeastDegrees * (kPlaces - 1)) / degrees.to(at::kDouble);
  const at::Tensor before = places.floor().clamp(0, kPlaces - 2).to(at::kLong), part = places - before;
  const at::Tensor low = table.take(before), high = table.take(before + 1);
  return (low + (high - low) * part).to(degrees.scalar_type());
}

at::Tensor student_quantiles(const at::Tensor& numbers, const ForecastTerms& terms) {
  const at::Tensor degrees = degrees_of_freedom(numbers);
  std::vector<at::Tensor> deviates;
  for (const double level : terms.levels) deviates.push_back(student_deviates(degrees, level));
  return number(numbers, 0).unsqueeze(-1) + scale_of(numbers).unsqueeze(-1) * at::stack(deviates, -1);
}

// ---- counts ----

// Counts are float64, because terms of the likelihood of a large count cancel each other.

at::Tensor in_units(const at::Tensor& scaled, const ForecastTerms& terms) {
  const at::Tensor values = scaled.to(at::kDouble);
  return terms.scales.defined() ? values * terms.scales + terms.offsets : values;
}

at::Tensor scaled(const at::Tensor& values, const ForecastTerms& terms) {
  return terms.scales.defined() ? (values - terms.offsets) / terms.scales : values;
}

// An output of 0 is the usual size of the counts. So a new model begins with a rate of about that size, and needs no
// long training until its outputs have grown to the logarithms of large counts.
at::Tensor log_rate(const at::Tensor& numbers, const ForecastTerms& terms) {
  const at::Tensor own = number(numbers, 0).to(at::kDouble);
  return terms.scales.defined() ? own + at::maximum(terms.offsets, terms.scales).log() : own;
}

at::Tensor poisson_losses(const at::Tensor& numbers, const at::Tensor& targets, const ForecastTerms& terms) {
  const at::Tensor rate = log_rate(numbers, terms), counts = in_units(targets, terms);
  return (rate.exp() - counts * rate + at::lgamma(counts.add(1))).to(numbers.scalar_type());
}

at::Tensor poisson_mean(const at::Tensor& numbers, const ForecastTerms& terms) {
  return scaled(log_rate(numbers, terms).exp(), terms).to(numbers.scalar_type());
}

// Returns P(X <= counts).
at::Tensor poisson_distribution(const at::Tensor& counts, const at::Tensor& rates) {
  return at::igammac(counts.clamp_min(0).add(1), rates).masked_fill(counts.lt(0), 0);
}

// Returns the smallest counts whose distribution reaches the level: an expansion around the normal distribution
// (Cornish and Fisher 1938), corrected one by one.
at::Tensor poisson_quantile(const at::Tensor& rates, double level) {
  constexpr int kMostSteps = 100;
  const double z = normal_quantile(level);
  at::Tensor counts = (rates + rates.sqrt() * z + (z * z - 1) / 6).floor().clamp_min(0);
  for (int step = 0; step < kMostSteps; ++step) {
    const at::Tensor is_low = poisson_distribution(counts, rates).lt(level);
    const at::Tensor is_high = poisson_distribution(counts - 1, rates).ge(level);
    if (!is_low.logical_or(is_high).any().item<bool>()) return counts;
    counts = counts + is_low.to(at::kDouble) - is_high.to(at::kDouble);
  }
  return counts;
}

// Quantiles are rounded as targets are, so that a count is within an interval that ends with it.
at::Tensor poisson_quantiles(const at::Tensor& numbers, const ForecastTerms& terms) {
  const at::Tensor rates = log_rate(numbers, terms).exp();
  std::vector<at::Tensor> quantiles;
  for (const double level : terms.levels) quantiles.push_back(scaled(poisson_quantile(rates, level), terms));
  return at::stack(quantiles, -1).to(at::kFloat).to(numbers.scalar_type());
}

constexpr Distribution kQuantile = {
    .num_parameters = one_a_level, .losses = pinball_losses, .point = median, .quantiles = in_order};

constexpr Distribution kGaussian = {
    .num_parameters = fixed<2>, .losses = gaussian_losses, .point = first_number, .quantiles = gaussian_quantiles};

constexpr Distribution kStudent = {
    .num_parameters = fixed<3>, .losses = student_losses, .point = first_number, .quantiles = student_quantiles};

constexpr Distribution kPoisson = {.num_parameters = fixed<1>,
                                   .losses = poisson_losses,
                                   .point = poisson_mean,
                                   .quantiles = poisson_quantiles,
                                   .is_of_counts = true};

}  // namespace

// The numbers are the quantiles themselves. The loss is twice the mean pinball loss over the levels, which for the
// level 0.5 alone is the absolute error. Source: Koenker and Bassett, Regression Quantiles (1978). Quantiles that cross
// are brought into order: Chernozhukov, Fernandez-Val and Galichon, Quantile and Probability Curves without Crossing
// (2010). The point is the median.
constinit const LossInfo quantile_loss = {.targets = LossTargets::kNumbers, .distribution = &kQuantile};

// A mean and a deviation: m, softplus(s) + 1e-4. The loss is the negative log likelihood, and the point the mean.
constinit const LossInfo gaussian_loss = {.targets = LossTargets::kNumbers, .distribution = &kGaussian};

// Student's t with a location, a scale as above and 2 + softplus(d) degrees of freedom, so that the variance is finite.
constinit const LossInfo student_loss = {.targets = LossTargets::kNumbers, .distribution = &kStudent};

// The rate exp(r) times the usual value of the target (the larger of offset and scale). Targets count in their own
// units, whatever their scaling. The point is the rate, and quantiles are whole numbers.
constinit const LossInfo poisson_loss = {.targets = LossTargets::kNumbers, .distribution = &kPoisson};

}  // namespace rnnlab
