// SPDX-License-Identifier: Apache-2.0
#include "data/scaling.h"

#include "base/error.h"

namespace rnnlab {
namespace {

// In floating point the deviation of a constant may differ from 0, but it is far below the constant's magnitude.
double nonzero(double scale, double minimum, double maximum) {
  const double magnitude = std::max(std::abs(minimum), std::abs(maximum));
  return scale > magnitude * 1e-12 ? scale : 1;
}

Scaling minmax(double minimum, double maximum) { return {minimum, nonzero(maximum - minimum, minimum, maximum)}; }

}  // namespace

Scaling fit(const Moments& moments, Normalization how) {
  RNNLAB_INVARIANT(is_fitted(how), "a normalization that is fitted to each feature");
  if (how == Normalization::kMinMax && moments.count() == 0) return {};
  if (how == Normalization::kMinMax) return minmax(moments.minimum(), moments.maximum());
  return {moments.mean(), nonzero(moments.standard_deviation(), moments.minimum(), moments.maximum())};
}

Scaling fit(std::span<const double> values, Normalization how) {
  Moments moments;
  for (const double value : values)
    if (!std::isnan(value)) moments.add(value);
  return fit(moments, how);
}

InputScaling::InputScaling(Normalization how, const std::vector<Scaling>& features, int64_t num_features,
                           int64_t byte_maximum)
    : how_(how), num_features_(static_cast<size_t>(num_features)) {
  RNNLAB_INVARIANT(how != Normalization::kAutomatic, "the loader of a source resolves 'auto'");
  if (how == Normalization::kNone || how == Normalization::kColumnMinMax) return;
  const bool is_unit = how == Normalization::kUnit;
  RNNLAB_INVARIANT(is_unit || features.size() == num_features_, "a scaling for each feature");
  for (size_t f = 0; f < num_features_; ++f) {
    const Scaling feature = is_unit ? Scaling{0, static_cast<double>(byte_maximum)} : features[f];
    period_.offsets.push_back(feature.offset);
    period_.scales.push_back(feature.scale);
  }
  period_.repeat_first(num_features_);
}

void InputScaling::Period::repeat_first(size_t num_features) {
  constexpr size_t kLongEnough = 64;
  while (offsets.size() < kLongEnough) {
    for (size_t f = 0; f < num_features; ++f) {
      offsets.push_back(offsets[f]);
      scales.push_back(scales[f]);
    }
  }
}

void InputScaling::Period::apply(std::span<float> steps) const {
  const double* const offset = offsets.data();
  const double* const scale = scales.data();
  for (size_t begin = 0; begin < steps.size(); begin += offsets.size()) {
    float* const values = steps.data() + begin;
    const size_t count = std::min(offsets.size(), steps.size() - begin);
    for (size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>((static_cast<double>(values[i]) - offset[i]) / scale[i]);
  }
}

InputScaling::Period InputScaling::fitted_to_columns(std::span<const float> steps) const {
  std::vector<float> least(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(num_features_)), most = least;
  for (size_t begin = 0; begin < steps.size(); begin += num_features_) {
    for (size_t f = 0; f < num_features_; ++f) {
      least[f] = std::min(least[f], steps[begin + f]);
      most[f] = std::max(most[f], steps[begin + f]);
    }
  }
  Period period;
  for (size_t f = 0; f < num_features_; ++f) {
    const Scaling column = minmax(static_cast<double>(least[f]), static_cast<double>(most[f]));
    period.offsets.push_back(column.offset);
    period.scales.push_back(column.scale);
  }
  period.repeat_first(num_features_);
  return period;
}

void InputScaling::apply(std::span<float> steps) const {
  if (is_identity() || steps.empty()) return;
  if (how_ == Normalization::kColumnMinMax) return fitted_to_columns(steps).apply(steps);
  period_.apply(steps);
}

}  // namespace rnnlab
