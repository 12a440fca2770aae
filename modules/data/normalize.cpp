// SPDX-License-Identifier: Apache-2.0
#include "data/normalize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace rnnlab {
namespace {

// In floating point the deviation of a constant may differ from 0, but it is far below the constant's magnitude.
double nonzero(double scale, const Moments& moments) {
  const double magnitude = std::max(std::abs(moments.minimum()), std::abs(moments.maximum()));
  return scale > magnitude * 1e-12 ? scale : 1;
}

Scaling standard(const Moments& moments) { return {moments.mean(), nonzero(moments.standard_deviation(), moments)}; }

Scaling minmax(const Moments& moments) {
  if (moments.count() == 0) return {};
  return {moments.minimum(), nonzero(moments.maximum() - moments.minimum(), moments)};
}

Moments moments_of(std::span<const double> values) {
  Moments moments;
  for (const double value : values) moments.add(value);
  return moments;
}

// Calls visit(float* step, features) for the steps of sample n within its length.
template <class Visit>
void visit_steps(const Samples& samples, int64_t n, const Visit& visit) {
  const int64_t num_steps = samples.inputs.size(1);
  const int64_t num_features = samples.inputs.size(2);
  const int64_t length = samples.lengths.defined() ? samples.lengths.const_data_ptr<int64_t>()[n] : num_steps;
  float* const sample = samples.inputs.mutable_data_ptr<float>() + n * num_steps * num_features;
  for (int64_t t = 0; t < length; ++t) visit(std::span(sample + t * num_features, static_cast<size_t>(num_features)));
}

void add_sample(std::vector<Moments>& moments, const Samples& samples, int64_t n) {
  visit_steps(samples, n, [&](std::span<float> step) {
    for (size_t f = 0; f < step.size(); ++f) moments[f].add(static_cast<double>(step[f]));
  });
}

void scale_sample(const Samples& samples, int64_t n, const std::vector<Scaling>& scalings) {
  visit_steps(samples, n, [&](std::span<float> step) {
    for (size_t f = 0; f < step.size(); ++f) {
      step[f] = static_cast<float>((static_cast<double>(step[f]) - scalings[f].offset) / scalings[f].scale);
    }
  });
}

std::vector<Scaling> scalings_of(const std::vector<Moments>& moments, Normalization how) {
  std::vector<Scaling> scalings;
  for (const Moments& feature : moments) {
    scalings.push_back(how == Normalization::kStandard ? standard(feature) : minmax(feature));
  }
  return scalings;
}

void scale_all(const Samples& samples, const std::vector<Scaling>& scalings) {
  for (int64_t n = 0; n < samples.size(); ++n) scale_sample(samples, n, scalings);
}

std::vector<Scaling> fit_features(const Samples& train, Normalization how) {
  if (how != Normalization::kStandard && how != Normalization::kMinMax) return {};
  std::vector<Moments> moments(static_cast<size_t>(train.inputs.size(2)));
  for (int64_t n = 0; n < train.size(); ++n) add_sample(moments, train, n);
  return scalings_of(moments, how);
}

void scale_by_columns(const Samples& samples) {
  for (int64_t n = 0; n < samples.size(); ++n) {
    std::vector<Moments> moments(static_cast<size_t>(samples.inputs.size(2)));
    add_sample(moments, samples, n);
    scale_sample(samples, n, scalings_of(moments, Normalization::kMinMax));
  }
}

std::string note_on(Normalization how) {
  switch (how) {
    case Normalization::kUnit:
      return "inputs divided by 255";
    case Normalization::kStandard:
      return "inputs scaled to mean 0 and standard deviation 1 for each feature, fitted on the training part";
    case Normalization::kMinMax:
      return "inputs scaled to 0 to 1 for each feature, fitted on the training part";
    case Normalization::kColumnMinMax:
      return "inputs scaled to 0 to 1 for each feature of each sample over its steps";
    case Normalization::kNone:
    case Normalization::kAutomatic:
      break;
  }
  return "";
}

}  // namespace

Scaling fit_standard(std::span<const double> values) { return standard(moments_of(values)); }
Scaling fit_minmax(std::span<const double> values) { return minmax(moments_of(values)); }

Normalized normalize(Samples& train, Samples& valid, Normalization how) {
  Normalized done{note_on(how), fit_features(train, how)};
  normalize_as(train, how, done.features);
  normalize_as(valid, how, done.features);
  return done;
}

void normalize_as(Samples& samples, Normalization how, const std::vector<Scaling>& features) {
  switch (how) {
    case Normalization::kNone:
      return;
    case Normalization::kUnit:
      return scale_all(samples, std::vector<Scaling>(static_cast<size_t>(samples.inputs.size(2)), Scaling{0, 255}));
    case Normalization::kStandard:
    case Normalization::kMinMax:
      return scale_all(samples, features);
    case Normalization::kColumnMinMax:
      return scale_by_columns(samples);
    case Normalization::kAutomatic:
      break;
  }
  RNNLAB_INVARIANT(false, "the loader of a source resolves 'auto'");
}

}  // namespace rnnlab
