// SPDX-License-Identifier: Apache-2.0
#include "data/normalize.h"

#include <fmt/format.h>

#include <span>

#include "data/mapped_inputs.h"

namespace rnnlab {
namespace {

void add_steps(std::vector<Moments>& moments, std::span<const float> steps) {
  for (size_t begin = 0; begin < steps.size(); begin += moments.size())
    for (size_t f = 0; f < moments.size(); ++f) moments[f].add(static_cast<double>(steps[begin + f]));
}

std::vector<Scaling> fit_features(const Samples& train, Normalization how) {
  if (!is_fitted(how)) return {};
  std::vector<Moments> moments(static_cast<size_t>(train.num_features()));
  visit_inputs(train, [&](int64_t n, std::span<const float> values) {
    add_steps(moments, values.first(static_cast<size_t>(train.length(n)) * moments.size()));
  });
  std::vector<Scaling> scalings;
  for (const Moments& feature : moments) scalings.push_back(fit(feature, how));
  return scalings;
}

std::string note_on(Normalization how, int64_t byte_maximum) {
  switch (how) {
    case Normalization::kUnit:
      return fmt::format("inputs divided by {}", byte_maximum);
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

Normalized normalize(Samples& train, Samples& valid, Normalization how, int64_t byte_maximum) {
  Normalized done{note_on(how, byte_maximum), fit_features(train, how)};
  normalize_as(train, how, done.features, byte_maximum);
  normalize_as(valid, how, done.features, byte_maximum);
  return done;
}

void normalize_as(Samples& samples, Normalization how, const std::vector<Scaling>& features, int64_t byte_maximum) {
  if (how == Normalization::kNone || samples.size() == 0) return;
  const int64_t num_features = samples.num_features();
  const InputScaling scaling(how, features, num_features, byte_maximum);
  if (samples.mapped) {
    samples.mapped = samples.mapped->scaled(scaling);
    return;
  }
  float* const inputs = samples.inputs.mutable_data_ptr<float>();
  for (int64_t n = 0; n < samples.size(); ++n)
    scaling.apply(
        {inputs + n * samples.sequence_length() * num_features, static_cast<size_t>(samples.length(n) * num_features)});
}

}  // namespace rnnlab
