#include "data/checks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/numbers.h"

namespace rnnlab {
namespace {

constexpr std::string_view kMendNumbers = "rnnlab trains on finite float32 numbers only: mend the file";

// The place of the first NaN or Inf, or -1.
int64_t first_not_finite(const at::Tensor& tensor) {
  const auto* begin = tensor.const_data_ptr<float>();
  const auto* end = begin + tensor.numel();
  const auto* found = std::find_if(begin, end, [](float value) { return !std::isfinite(value); });
  return found == end ? -1 : found - begin;
}

// The place of the first number outside least .. most, or -1.
int64_t first_outside(const at::Tensor& tensor, int64_t least, int64_t most) {
  const auto* begin = tensor.const_data_ptr<int64_t>();
  const auto* end = begin + tensor.numel();
  const auto* found = std::find_if(begin, end, [&](int64_t value) { return value < least || value > most; });
  return found == end ? -1 : found - begin;
}

}  // namespace

void require_finite_inputs(const at::Tensor& inputs, const std::string& origin) {
  const int64_t at = first_not_finite(inputs);
  if (at < 0) return;
  const int64_t num_steps = inputs.size(1);
  const int64_t num_features = inputs.size(2);
  throw_error(ExitCode::kDiverged, "{}: sample {}, step {}, feature {} (counted from 0) is {}: {}", origin,
              at / (num_steps * num_features), at / num_features % num_steps, at % num_features,
              inputs.const_data_ptr<float>()[at], kMendNumbers);
}

void require_finite_targets(const at::Tensor& targets, const std::string& origin) {
  const int64_t at = first_not_finite(targets);
  if (at < 0) return;
  throw_error(ExitCode::kDiverged, "{}: sample {}, target {} (counted from 0) is {}: {}", origin, at / targets.size(1),
              at % targets.size(1), targets.const_data_ptr<float>()[at], kMendNumbers);
}

void require_equal_counts(int64_t num_inputs, const std::string& inputs_origin, int64_t num_others,
                          const std::string& others_origin) {
  if (num_inputs == num_others) return;
  throw_error(ExitCode::kData, "{} holds {}, but {} holds {}: one of the two is not the file that belongs here",
              inputs_origin, counted(num_inputs, "sample"), others_origin, num_others);
}

void require_classes(const at::Tensor& classes, int64_t num_classes, const std::string& origin) {
  const int64_t at = first_outside(classes, 0, num_classes - 1);
  if (at < 0) return;
  throw_error(ExitCode::kData, "{}: sample {} (counted from 0) has class {}, expected one of {}, 0 to {}", origin, at,
              classes.const_data_ptr<int64_t>()[at], counted(num_classes, "class"), num_classes - 1);
}

void require_lengths(const at::Tensor& lengths, int64_t num_steps, const std::string& origin) {
  const int64_t at = first_outside(lengths, 1, num_steps);
  if (at < 0) return;
  throw_error(ExitCode::kData,
              "{}: sample {} (counted from 0) has length {}, expected 1 to {}, the steps of the inputs", origin, at,
              lengths.const_data_ptr<int64_t>()[at], num_steps);
}

}  // namespace rnnlab
