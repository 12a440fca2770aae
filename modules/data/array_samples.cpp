// SPDX-License-Identifier: Apache-2.0
#include "data/array_samples.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/numbers.h"
#include "data/mapped_inputs.h"

namespace rnnlab {
namespace {

std::span<const float> all_floats(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

// Returns "sample 3, target 0 (counted from 0)" for an element of (N, K), with the step for (N, T, K).
std::string place_of_target(const at::Tensor& targets, int64_t at) {
  const int64_t num_targets = targets.size(-1), row = at / num_targets;
  if (targets.dim() == 2) return fmt::format("sample {}, target {} (counted from 0)", row, at % num_targets);
  const int64_t num_steps = targets.size(1);
  return fmt::format("sample {}, step {}, target {} (counted from 0)", row / num_steps, row % num_steps,
                     at % num_targets);
}

// Returns the index of the first number outside least .. most, or -1.
int64_t first_outside(const at::Tensor& tensor, int64_t least, int64_t most) {
  const auto* begin = tensor.const_data_ptr<int64_t>();
  const auto* end = begin + tensor.numel();
  const auto* found = std::find_if(begin, end, [&](int64_t value) { return value < least || value > most; });
  return found == end ? -1 : found - begin;
}

void require_finite_targets(const at::Tensor& targets, const std::string& origin, MissingTargets missing) {
  const std::span<const float> values = all_floats(targets);
  const bool allows_nan = missing == MissingTargets::kAllowed;
  const auto bad = std::ranges::find_if(
      values, [&](float value) { return !std::isfinite(value) && !(allows_nan && std::isnan(value)); });
  if (bad == values.end()) return;
  const std::string place = place_of_target(targets, bad - values.begin());
  if (!std::isnan(*bad)) throw_not_finite(origin, place, *bad);
  throw_error(ExitCode::kDiverged,
              "{}: {} is nan: correct the file, or set data.missing: drop, which leaves missing targets out of losses "
              "and metrics",
              origin, place);
}

void require_equal_counts(int64_t num_inputs, const std::string& inputs_origin, int64_t num_others,
                          const std::string& others_origin) {
  if (num_inputs == num_others) return;
  throw_error(ExitCode::kData, "{} holds {}, but {} holds {}: one of the two is the wrong file", inputs_origin,
              counted(num_inputs, "sample"), others_origin, num_others);
}

void require_lengths(const at::Tensor& lengths, int64_t num_steps, const std::string& origin) {
  const int64_t at = first_outside(lengths, 1, num_steps);
  if (at < 0) return;
  throw_error(
      ExitCode::kData,
      "{}: sample {} (counted from 0) has length {}, expected 1 to {}, the steps of the inputs: correct the file",
      origin, at, lengths.const_data_ptr<int64_t>()[at], num_steps);
}

at::Tensor to_float(const Array& array, at::IntArrayRef shape) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* const out = tensor.mutable_data_ptr<float>();
  visit_values(array, [&](auto values) {
    std::ranges::transform(values, out, [](auto value) { return static_cast<float>(value); });
  });
  return tensor;
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(value);
  else
    return false;
}

// Returns whether int64_t represents the value exactly.
template <class T>
bool is_whole(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::trunc(value) == value && std::abs(value) < static_cast<T>(int64_t{1} << 62);
  } else {
    return std::in_range<int64_t>(value);
  }
}

at::Tensor to_whole_numbers(const Array& array, at::IntArrayRef shape, const std::string& origin, std::string_view what,
                            MissingTargets missing = MissingTargets::kRefused) {
  at::Tensor tensor = at::empty(shape, at::kLong);
  int64_t* const out = tensor.mutable_data_ptr<int64_t>();
  const auto per_sample = static_cast<size_t>(shape.size() > 1 ? shape[1] : 1);
  visit_values(array, [&](auto values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (missing == MissingTargets::kAllowed && is_nan(values[i])) {
        out[i] = -1;
        continue;
      }
      if (!is_whole(values[i])) {
        const std::string step = shape.size() > 1 ? fmt::format(", step {}", i % per_sample) : "";
        throw_error(ExitCode::kData, "{}: sample {}{} (counted from 0) is {}, but {} are whole numbers", origin,
                    i / per_sample, step, values[i], what);
      }
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8 is a number here, not a character
      out[i] = static_cast<int64_t>(values[i]);
    }
  });
  return tensor;
}

at::Tensor one_whole_number_each(const Array& array, const std::string& origin, std::string_view what,
                                 MissingTargets missing = MissingTargets::kRefused) {
  const bool one_column = array.shape.size() == 1 || (array.shape.size() == 2 && array.shape[1] == 1);
  if (!one_column) {
    throw_error(ExitCode::kData, "{}: {} need one number per sample, but the file holds {} {}", origin, what,
                format_shape(array.shape), element_name(array.type));
  }
  return to_whole_numbers(array, {array.shape[0]}, origin, what, missing);
}

void require_shares(const at::Tensor& values, const std::string& origin) {
  const auto* data = values.const_data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    if (std::isnan(data[i]) || (data[i] >= 0 && data[i] <= 1)) continue;
    throw_error(ExitCode::kData,
                "{}: {} is {}, but a binary target is from 0 to 1: use task: classification or regression", origin,
                place_of_target(values, i), data[i]);
  }
}

void require_steps(std::span<const int64_t> shape, std::string_view element, const std::string& origin) {
  if (shape.size() >= 2) return;
  throw_error(ExitCode::kData,
              "{}: inputs need the shape (samples, steps) or (samples, steps, features), but the file holds {} {}",
              origin, format_shape(shape), element);
}

// Throws UserError kData for the first binary target outside 0 to 1.
void require_values(const at::Tensor& targets, Task task, const std::string& origin, MissingTargets missing) {
  require_finite_targets(targets, origin, missing);
  if (task == Task::kBinary) require_shares(targets, origin);
}

void clear_padding_of_targets(at::Tensor& targets, const at::Tensor& lengths) {
  at::Tensor is_padding = are_within(lengths, targets.size(1)).logical_not();
  if (targets.dim() == 3) is_padding = is_padding.unsqueeze(2);
  targets.masked_fill_(is_padding, 0);
}

void clear_nan_in_padding(at::Tensor& inputs, const at::Tensor& lengths) {
  const int64_t num_steps = inputs.size(1), num_features = inputs.size(2);
  auto* const values = inputs.mutable_data_ptr<float>();
  for (int64_t sample = 0; sample < inputs.size(0); ++sample) {
    const int64_t first_step = sample * num_steps + lengths.const_data_ptr<int64_t>()[sample];
    std::replace_if(
        values + first_step * num_features, values + (sample + 1) * num_steps * num_features,
        [](float value) { return !std::isfinite(value); }, 0.0F);
  }
}

std::shared_ptr<const MappedInputs> mapped_inputs_from(const std::filesystem::path& file) {
  auto array = std::make_shared<const MappedArray>(file);
  const NpyLayout& layout = array->layout();
  require_steps(layout.shape, layout.is_half ? "f16" : element_name(layout.type), file.string());
  return std::make_shared<const MappedInputs>(std::move(array));
}

// Targets of whole samples have fewer dimensions; other shapes fit neither.
const char* advice_on_steps(const Array& array) {
  return array.shape.size() == 1 ? "for one target a sample remove data.target_per: step"
                                 : "write the file in this shape";
}

Task task_for(const Array& targets, TaskChoice choice, TargetPer per) {
  if (const auto named = named_task(choice)) return *named;
  const size_t num_dimensions = per == TargetPer::kStep ? 2 : 1;
  return targets.shape.size() == num_dimensions && is_integer(targets.type) ? Task::kClassification : Task::kRegression;
}

at::Tensor classes_of_steps_from(const Array& array, const std::string& origin, MissingTargets missing) {
  if (array.shape.size() != 2)
    throw_error(ExitCode::kData,
                "{}: the classes of steps need the shape (samples, steps), but the file holds {} {}; {}", origin,
                format_shape(array.shape), element_name(array.type), advice_on_steps(array));
  return to_whole_numbers(array, array.shape, origin, "classes", missing);
}

at::Tensor values_of_steps_from(const Array& array, const std::string& origin) {
  const size_t num_dimensions = array.shape.size();
  if (num_dimensions != 2 && num_dimensions != 3)
    throw_error(ExitCode::kData,
                "{}: the targets of steps need the shape (samples, steps) or (samples, steps, targets), but the file "
                "holds {} {}; {}",
                origin, format_shape(array.shape), element_name(array.type), advice_on_steps(array));
  return to_float(array, {array.shape[0], array.shape[1], num_dimensions == 3 ? array.shape[2] : 1});
}

at::Tensor values_from(const Array& array, Task task, const std::string& origin, MissingTargets missing) {
  if (array.shape.size() > 2) {
    throw_error(ExitCode::kData, "{}: targets need the shape (samples) or (samples, targets), but the file holds {} {}",
                origin, format_shape(array.shape), element_name(array.type));
  }
  at::Tensor values = to_float(array, {array.shape[0], array.shape.size() == 2 ? array.shape[1] : 1});
  require_values(values, task, origin, missing);
  return values;
}

at::Tensor lengths_from(const Array& array, const std::string& origin) {
  return one_whole_number_each(array, origin, "lengths");
}

}  // namespace

void require_classes(const at::Tensor& classes, int64_t num_classes, const std::string& origin,
                     MissingTargets missing) {
  const int64_t at = first_outside(classes, missing == MissingTargets::kAllowed ? -1 : 0, num_classes - 1);
  if (at < 0) return;
  const int64_t num_steps = classes.dim() == 2 ? classes.size(1) : 1;
  const std::string step = classes.dim() == 2 ? fmt::format(", step {}", at % num_steps) : "";
  throw_error(ExitCode::kData,
              "{}: sample {}{} (counted from 0) has class {}, expected one of {}, 0 to {}: correct the label; classes "
              "are numbered from 0",
              origin, at / num_steps, step, classes.const_data_ptr<int64_t>()[at], counted(num_classes, "class"),
              num_classes - 1);
}

at::Tensor inputs_from(const Array& array, const std::string& origin) {
  require_steps(array.shape, element_name(array.type), origin);
  const int64_t num_features = array.num_elements() / (array.shape[0] * array.shape[1]);
  return to_float(array, {array.shape[0], array.shape[1], num_features});
}

at::Tensor classes_from(const Array& array, const std::string& origin, MissingTargets missing) {
  return one_whole_number_each(array, origin, "classes", missing);
}

namespace {

void add_lengths(Samples& samples, const ArrayFiles& files, ArrayReader read) {
  if (files.lengths.empty()) return;
  samples.lengths = lengths_from(read(files.lengths), files.lengths);
  require_equal_counts(samples.size(), files.inputs, samples.lengths.size(0), files.lengths);
  require_lengths(samples.lengths, samples.sequence_length(), files.lengths);
}

at::Tensor targets_from(const Array& array, Task task, const TargetArray& target, const std::string& origin) {
  const bool are_classes = task == Task::kClassification;
  if (target.per == TargetPer::kStep)
    return are_classes ? classes_of_steps_from(array, origin, target.missing) : values_of_steps_from(array, origin);
  return are_classes ? classes_from(array, origin, target.missing) : values_from(array, task, origin, target.missing);
}

void add_targets(ArrayPart& part, const ArrayFiles& files, ArrayReader read, const TargetArray& target) {
  if (files.targets.empty()) return;
  const Array targets = read(files.targets);
  part.task = task_for(targets, target.task, target.per);
  part.samples.targets = targets_from(targets, part.task, target, files.targets);
}

void check_inputs(Samples& samples, const ArrayFiles& files) {
  if (!samples.inputs.defined()) return;
  if (samples.lengths.defined()) clear_nan_in_padding(samples.inputs, samples.lengths);
  require_finite(all_floats(samples.inputs), 0, samples.inputs.size(1), samples.inputs.size(2), files.inputs);
}

void check_targets_of_steps(ArrayPart& part, const ArrayFiles& files, MissingTargets missing) {
  Samples& samples = part.samples;
  if (!samples.targets.defined() || !has_target_per_step(samples.targets)) return;
  if (samples.targets.size(1) != samples.sequence_length())
    throw_error(ExitCode::kData, "{} has targets for {}, but the samples of {} have {}; each step needs a target",
                files.targets.string(), counted(samples.targets.size(1), "step"), files.inputs.string(),
                samples.sequence_length());
  if (samples.lengths.defined()) clear_padding_of_targets(samples.targets, samples.lengths);
  if (part.task != Task::kClassification) require_values(samples.targets, part.task, files.targets, missing);
}

void require_a_target_each(const ArrayPart& part, int64_t num_inputs, const ArrayFiles& files) {
  if (part.samples.targets.defined())
    require_equal_counts(num_inputs, files.inputs, part.samples.targets.size(0), files.targets);
}

void add_inputs(ArrayPart& part, const ArrayFiles& files, ArrayReader read, InputMemory memory) {
  if (memory == InputMemory::kMapped) {
    part.samples.mapped = mapped_inputs_from(files.inputs);
    part.input_type = part.samples.mapped->type();
    return require_a_target_each(part, part.samples.size(), files);
  }
  const Array inputs = read(files.inputs);
  part.input_type = inputs.type;
  require_a_target_each(part, inputs.shape[0], files);
  part.samples.inputs = inputs_from(inputs, files.inputs);
}

}  // namespace

ArrayPart read_arrays(const ArrayFiles& files, ArrayReader read, const TargetArray& target, InputMemory memory) {
  ArrayPart part;
  add_targets(part, files, read, target);
  add_inputs(part, files, read, memory);
  add_lengths(part.samples, files, read);
  check_inputs(part.samples, files);
  check_targets_of_steps(part, files, target.missing);
  return part;
}

}  // namespace rnnlab
