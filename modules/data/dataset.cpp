#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace rnnlab {

int64_t Samples::bytes() const {
  int64_t total = 0;
  for (const at::Tensor& tensor : {inputs, targets, lengths}) {
    if (tensor.defined()) total += static_cast<int64_t>(tensor.nbytes());
  }
  return total;
}

bool Samples::has_target_per_step() const { return targets.dim() == 2 && targets.scalar_type() == at::kLong; }

namespace {

bool is_usable(const ColumnScale& scale) {
  return std::isfinite(scale.offset) && std::isfinite(scale.scale) && scale.scale != 0;
}

bool is_token(const std::string& text) { return text.size() == 1 || (is_valid_utf8(text) && display_width(text) == 1); }

bool is_size(int64_t size) { return size >= 1 && size <= std::numeric_limits<int32_t>::max(); }

}  // namespace

std::string fault_of(const FittedData& data) {
  const DataShape& shape = data.shape;
  if (!is_size(shape.input_size) || !is_size(shape.sequence_length) || !is_size(shape.num_outputs))
    return fmt::format("{} steps of {} features and {} outputs", shape.sequence_length, shape.input_size,
                       shape.num_outputs);
  const auto num_tokens = std::ssize(data.vocabulary);
  if (num_tokens > 0 && num_tokens != shape.num_outputs)
    return fmt::format("{} names of {} outputs", num_tokens, shape.num_outputs);
  if (shape.task == Task::kLanguageModel && !std::ranges::all_of(data.vocabulary, is_token))
    return "a token that is neither a byte nor a character";
  const auto num_targets = std::ssize(data.target_scales);
  if (num_targets > 0 && num_targets != shape.num_outputs)
    return fmt::format("{} scales of {} targets", num_targets, shape.num_outputs);
  if (!std::ranges::all_of(data.target_scales, is_usable) || !std::ranges::all_of(data.feature_scales, is_usable))
    return "a scale that is zero or not finite";
  return "";
}

}  // namespace rnnlab
