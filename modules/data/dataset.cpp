#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"
#include "data/data_settings.h"

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

// Checks one size after another; a message contains both sizes that disagree.
std::string fault_of_sizes(const FittedData& data) {
  const DataShape& shape = data.shape;
  if (!is_size(shape.input_size) || !is_size(shape.sequence_length) || !is_size(shape.num_outputs))
    return fmt::format("{} steps of {} features and {} outputs", shape.sequence_length, shape.input_size,
                       shape.num_outputs);
  const auto num_names = std::ssize(data.vocabulary);
  if (num_names > 0 && num_names != shape.num_outputs)
    return fmt::format("{} names of {} outputs", num_names, shape.num_outputs);
  const auto num_targets = std::ssize(data.target_scales);
  if (num_targets > 0 && num_targets != shape.num_outputs)
    return fmt::format("{} scales of {} targets", num_targets, shape.num_outputs);
  return "";
}

std::string fault_of_numbers(const FittedData& data) {
  if (!std::ranges::all_of(data.target_scales, is_usable) || !std::ranges::all_of(data.feature_scales, is_usable))
    return "a scale that is zero or not finite";
  const auto is_finite = [](const auto& mean) { return std::isfinite(mean.second); };
  return std::ranges::all_of(data.column_means, is_finite) ? "" : "a mean that is not finite";
}

bool is_scaled_by_columns(Normalization how) {
  return how == Normalization::kStandard || how == Normalization::kMinMax;
}

// A table is scaled column by column.
std::string fault_of_table(const FittedData& data, const DataSettings& settings) {
  const DataShape& shape = data.shape;
  const int64_t num_columns = settings.window > 0 ? shape.input_size : shape.sequence_length;
  if (std::ssize(data.feature_scales) != num_columns)
    return fmt::format("{} for {}", counted(std::ssize(data.feature_scales), "scale"), counted(num_columns, "column"));
  const bool fits_window = settings.window > 0 ? shape.sequence_length == settings.window : shape.input_size == 1;
  if (!fits_window)
    return fmt::format("{} steps of {} features for a data.window of {}", shape.sequence_length, shape.input_size,
                       settings.window);
  const bool has_names = shape.task == Task::kClassification;
  const auto num_outputs = has_names ? std::ssize(data.vocabulary) : std::ssize(settings.target);
  if (num_outputs != shape.num_outputs)
    return fmt::format("{} {} of {} outputs", num_outputs, has_names ? "names" : "columns", shape.num_outputs);
  const bool scales_targets = shape.task == Task::kRegression && is_scaled_by_columns(data.normalization);
  if (scales_targets == data.target_scales.empty())
    return fmt::format("{} of {} targets", counted(std::ssize(data.target_scales), "scale"), shape.num_outputs);
  return "";
}

std::string fault_of_text(const FittedData& data) {
  if (data.vocabulary.empty()) return "a text without tokens";
  if (!std::ranges::all_of(data.vocabulary, is_token)) return "a token that is neither a byte nor a character";
  return "";
}

// In all other sources the features are scaled in the same way in all samples.
std::string fault_of_arrays(const FittedData& data) {
  const auto num_scales = std::ssize(data.feature_scales);
  const int64_t expected = is_scaled_by_columns(data.normalization) ? data.shape.input_size : 0;
  if (num_scales == expected) return "";
  return fmt::format("{} for {}", counted(num_scales, "scale"), counted(data.shape.input_size, "feature"));
}

std::string fault_of_source(const FittedData& data, const DataSettings& settings) {
  const bool is_text = settings.source == Source::kText;
  if (is_text != (data.shape.task == Task::kLanguageModel))
    return fmt::format("a task {} of source {}", config::name_of(data.shape.task), config::name_of(settings.source));
  if (is_text) return fault_of_text(data);
  return settings.source == Source::kCsv ? fault_of_table(data, settings) : fault_of_arrays(data);
}

}  // namespace

std::string fault_of(const FittedData& data, const DataSettings& settings) {
  for (const std::string& fault : {fault_of_sizes(data), fault_of_numbers(data), fault_of_source(data, settings)})
    if (!fault.empty()) return fault;
  return "";
}

namespace {

void add(Sha256& digest, std::string_view name, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    digest.update(fmt::format("{} none\n", name));
    return;
  }
  RNNLAB_INVARIANT(tensor.is_contiguous() && tensor.is_cpu(), "samples lie contiguous on the CPU");
  std::string header = fmt::format("{} {}", name, c10::toString(tensor.scalar_type()));
  for (const int64_t size : tensor.sizes()) header += fmt::format(" {}", size);
  digest.update(header + "\n");
  digest.update(std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()));
}

}  // namespace

std::string fingerprint(const Samples& train, const Samples& valid) {
  Sha256 digest;
  add(digest, "train.inputs", train.inputs);
  add(digest, "train.targets", train.targets);
  add(digest, "train.lengths", train.lengths);
  add(digest, "valid.inputs", valid.inputs);
  add(digest, "valid.targets", valid.targets);
  add(digest, "valid.lengths", valid.lengths);
  return digest.hex();
}

}  // namespace rnnlab
