// SPDX-License-Identifier: Apache-2.0
#include "data/mapped_inputs.h"

#include <c10/util/Half.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "data/readers/rows.h"

namespace rnnlab {
namespace {

// Elements in a file need not be aligned.
template <class T>
void convert_elements(const std::byte* from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(value);
  }
}

using Conversion = void (*)(const std::byte*, std::span<float>);

Conversion conversion_of(const NpyLayout& layout) {
  if (layout.is_half) return convert_elements<c10::Half>;
  return visit_type(layout.type, []<class T>(std::type_identity<T>) -> Conversion { return convert_elements<T>; });
}

// Unlike std::find_if, the loop has no early exit, so that the compiler can use vector instructions.
bool are_finite(std::span<const float> values) {
  int is_any_bad = 0;
  for (const float value : values) is_any_bad |= std::abs(value) <= std::numeric_limits<float>::max() ? 0 : 1;
  return is_any_bad == 0;
}

// Returns at most `count` rows from `first` on.
std::span<const int64_t> part_of(std::span<const int64_t> rows, int64_t first, int64_t count) {
  const auto begin = std::min(rows.size(), static_cast<size_t>(first));
  return rows.subspan(begin, std::min(rows.size() - begin, static_cast<size_t>(count)));
}

}  // namespace

std::optional<int64_t> first_not_finite(std::span<const float> values) {
  if (are_finite(values)) return std::nullopt;
  return std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); }) - values.begin();
}

void throw_not_finite(const std::string& origin, std::string_view place, float value) {
  throw_error(ExitCode::kDiverged, "{}: {} is {}: rnnlab trains on finite float32 numbers only: correct the file",
              origin, place, value);
}

void require_finite(std::span<const float> inputs, int64_t first_sample, int64_t num_steps, int64_t num_features,
                    const std::string& origin) {
  const std::optional<int64_t> at = first_not_finite(inputs);
  if (!at) return;
  const int64_t step = *at / num_features;
  throw_not_finite(origin,
                   fmt::format("sample {}, step {}, feature {} (counted from 0)", first_sample + step / num_steps,
                               step % num_steps, *at % num_features),
                   inputs[static_cast<size_t>(*at)]);
}

MappedInputs::MappedInputs(std::shared_ptr<const MappedArray> array) : array_(std::move(array)) {
  const NpyLayout& layout = array_->layout();
  RNNLAB_INVARIANT(layout.shape.size() >= 2, "inputs have samples and steps");
  rows_ = std::make_shared<const std::vector<int64_t>>(first_rows(layout.shape[0]));
  const auto num_bytes = static_cast<int64_t>(array_->bytes().size());
  num_steps_ = layout.shape[1];
  bytes_of_sample_ = num_bytes / layout.shape[0];
  num_features_ = bytes_of_sample_ / element_size(layout.type) / num_steps_;
}

ElementType MappedInputs::type() const { return array_->layout().is_half ? ElementType::kF32 : array_->layout().type; }

std::vector<int64_t> MappedInputs::rows_of(std::span<const int64_t> samples) const {
  std::vector<int64_t> rows;
  rows.reserve(samples.size());
  for (const int64_t sample : samples) rows.push_back(row_of(sample));
  return rows;
}

std::shared_ptr<const MappedInputs> MappedInputs::selected(std::span<const int64_t> samples) const {
  auto selection = std::make_shared<MappedInputs>(*this);
  selection->rows_ = std::make_shared<const std::vector<int64_t>>(rows_of(samples));
  return selection;
}

std::shared_ptr<const MappedInputs> MappedInputs::scaled(const InputScaling& scaling) const {
  RNNLAB_INVARIANT(scaling_.is_identity(), "inputs are scaled once");
  auto result = std::make_shared<MappedInputs>(*this);
  result->scaling_ = scaling;
  return result;
}

int64_t MappedInputs::row_of(int64_t sample) const {
  RNNLAB_INVARIANT(sample >= 0 && sample < size(), "the order names a sample that is not there");
  return (*rows_)[static_cast<size_t>(sample)];
}

const std::byte* MappedInputs::bytes_of(int64_t row) const { return array_->bytes().data() + row * bytes_of_sample_; }

// `out` may end before the sample does.
void MappedInputs::convert(int64_t row, std::span<float> out) const {
  conversion_of(array_->layout())(bytes_of(row), out);
}

// Returns how many of the first `count` values of a sample are not padding.
size_t MappedInputs::num_within_length(size_t count, int64_t sample, std::span<const int64_t> lengths) const {
  if (lengths.empty()) return count;
  return std::min(count, static_cast<size_t>(lengths[static_cast<size_t>(sample)] * num_features_));
}

// Padding is not scaled, and NaN and Inf in it become 0, as in inputs in memory.
void MappedInputs::scale(std::span<float> values, int64_t sample, std::span<const int64_t> lengths) const {
  const size_t within_length = num_within_length(values.size(), sample, lengths);
  scaling_.apply(values.first(within_length));
  std::ranges::replace_if(
      values.subspan(within_length), [](float value) { return !std::isfinite(value); }, 0.0F);
}

void MappedInputs::gather(std::span<const int64_t> samples, int64_t num_steps, std::span<const int64_t> lengths,
                          float* out) const {
  array_->require_unchanged();
  const bool is_plain = lengths.empty() && scaling_.is_identity() && array_->layout().type == ElementType::kF32;
  std::vector<float> values(is_plain ? 0 : static_cast<size_t>(num_steps * num_features_));
  const size_t step_bytes = static_cast<size_t>(num_features_) * sizeof(float);
  for (size_t b = 0; b < samples.size(); ++b) {
    const int64_t row = row_of(samples[b]);
    if (!is_plain) {
      convert(row, values);
      scale(values, samples[b], lengths);
    }
    const std::byte* const steps = is_plain ? bytes_of(row) : std::as_bytes(std::span(values)).data();
    copy_steps(steps, static_cast<size_t>(num_steps), step_bytes, b, samples.size(), reinterpret_cast<std::byte*>(out));
  }
  array_->require_unchanged();
}

void MappedInputs::will_need(std::span<const int64_t> samples) const { will_need_rows(rows_of(samples)); }

// Rows that follow each other in the file are named together, because each call costs time.
void MappedInputs::will_need_rows(std::span<const int64_t> rows) const {
  const auto num_bytes = static_cast<size_t>(bytes_of_sample_);
  for (size_t first = 0; first < rows.size();) {
    size_t count = 1;
    while (first + count < rows.size() && rows[first + count] == rows[first + count - 1] + 1) ++count;
    array_->will_need(static_cast<size_t>(rows[first]) * num_bytes, count * num_bytes);
    first += count;
  }
}

void MappedInputs::require_bools(int64_t row, std::span<const float> values) const {
  if (array_->layout().type != ElementType::kBool) return;
  if (std::ranges::all_of(values, [](float value) { return value <= 1; })) return;
  throw_error(ExitCode::kData,
              "{}: sample {} (counted from 0) has a bool that is neither 0 nor 1: write the file again with numpy.save",
              array_->path(), row);
}

void MappedInputs::visit(std::span<const int64_t> lengths,
                         const std::function<void(int64_t, std::span<const float>)>& visit) const {
  find(lengths, [&](int64_t sample, std::span<const float> values) {
    visit(sample, values);
    return false;
  });
}

std::optional<int64_t> MappedInputs::find(std::span<const int64_t> lengths,
                                          const std::function<bool(int64_t, std::span<const float>)>& condition) const {
  constexpr int64_t kBytesAhead = 8 << 20;
  const int64_t num_ahead = std::max<int64_t>(1, kBytesAhead / bytes_of_sample_);
  std::optional<int64_t> found;
  array_->require_unchanged();
  will_need_rows(part_of(*rows_, 0, num_ahead));
  for (int64_t first = 0; first < size() && !found; first += num_ahead) {
    will_need_rows(part_of(*rows_, first + num_ahead, num_ahead));
    found = find_within(first, std::min(size(), first + num_ahead), lengths, condition);
    array_->require_unchanged();
  }
  return found;
}

std::optional<int64_t> MappedInputs::find_within(
    int64_t first, int64_t end, std::span<const int64_t> lengths,
    const std::function<bool(int64_t, std::span<const float>)>& condition) const {
  std::vector<float> values(static_cast<size_t>(num_steps_ * num_features_));
  for (int64_t sample = first; sample < end; ++sample) {
    const int64_t row = row_of(sample);
    convert(row, values);
    require_finite(std::span(values).first(num_within_length(values.size(), sample, lengths)), row, num_steps_,
                   num_features_, array_->path());
    require_bools(row, values);
    scale(values, sample, lengths);
    if (condition(sample, values)) return sample;
  }
  return std::nullopt;
}

}  // namespace rnnlab
