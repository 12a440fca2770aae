// SPDX-License-Identifier: Apache-2.0
// Inputs of samples that stay in a mapped npy file. A batch is converted to float32 and scaled while it is gathered,
// and equals the batch of the same inputs in memory bit for bit. The values are immutable: a selection of samples and a
// scaling are new objects on the same mapping. Batches in memory use its order of steps. Targets and lengths are not
// here (dataset.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/mapped_array.h"
#include "data/scaling.h"

namespace rnnlab {

// Copies the steps of sample b of a batch to their places in `out` (T, B, F).
inline void copy_steps(const std::byte* steps, size_t num_steps, size_t step_bytes, size_t b, size_t batch_size,
                       std::byte* out) {
  for (size_t t = 0; t < num_steps; ++t)
    std::memcpy(out + (t * batch_size + b) * step_bytes, steps + t * step_bytes, step_bytes);
}

// Returns the index of the first NaN or Inf.
std::optional<int64_t> first_not_finite(std::span<const float> values);

// Throws UserError kDiverged for a value that is NaN or Inf; `origin` is the file.
[[noreturn]] void throw_not_finite(const std::string& origin, std::string_view place, float value);

// Throws UserError kDiverged with the place of the first of these inputs (N, T, F) that is NaN or Inf. `first_sample`
// is the number of the first sample in the file `origin`.
void require_finite(std::span<const float> inputs, int64_t first_sample, int64_t num_steps, int64_t num_features,
                    const std::string& origin);

class MappedInputs {
 public:
  // All samples of the file (N, T, ...), unscaled. The array has two dimensions at least.
  explicit MappedInputs(std::shared_ptr<const MappedArray> array);

  int64_t size() const { return static_cast<int64_t>(rows_->size()); }
  int64_t num_steps() const { return num_steps_; }        // T
  int64_t num_features() const { return num_features_; }  // F

  // Returns the type that the same inputs have in memory before they are converted; of a 16-bit float: kF32.
  ElementType type() const;

  // Return other inputs of the same file: these samples in this order, or samples with a scaling.
  std::shared_ptr<const MappedInputs> selected(std::span<const int64_t> samples) const;
  std::shared_ptr<const MappedInputs> scaled(const InputScaling& scaling) const;

  // In the functions below, `lengths` are those of all samples; they are empty if every sequence is whole.

  // Writes the first `num_steps` steps of these samples to `out` (num_steps, B, F). No length exceeds `num_steps`.
  // Throws UserError kData if the file was changed; `out` may then hold anything.
  void gather(std::span<const int64_t> samples, int64_t num_steps, std::span<const int64_t> lengths, float* out) const;

  // Asks the system to read these samples ahead, as MappedArray::will_need.
  void will_need(std::span<const int64_t> samples) const;

  // Calls visit(sample, values) with all values (T, F) of each sample, in order. Throws UserError kDiverged for a value
  // within the length of its sample that is NaN or Inf. Throws kData for a bool that is neither 0 nor 1, and if the
  // file was changed. A change is found before the function returns, but some samples after it may have been visited.
  void visit(std::span<const int64_t> lengths, const std::function<void(int64_t, std::span<const float>)>& visit) const;

  // Returns the first sample whose values (T, F) meet the condition, and reads no sample after it. Throws as visit().
  std::optional<int64_t> find(std::span<const int64_t> lengths,
                              const std::function<bool(int64_t, std::span<const float>)>& condition) const;

 private:
  int64_t row_of(int64_t sample) const;
  std::vector<int64_t> rows_of(std::span<const int64_t> samples) const;
  const std::byte* bytes_of(int64_t row) const;
  void convert(int64_t row, std::span<float> out) const;
  void scale(std::span<float> values, int64_t sample, std::span<const int64_t> lengths) const;
  size_t num_within_length(size_t count, int64_t sample, std::span<const int64_t> lengths) const;
  void require_bools(int64_t row, std::span<const float> values) const;
  std::optional<int64_t> find_within(int64_t first, int64_t end, std::span<const int64_t> lengths,
                                     const std::function<bool(int64_t, std::span<const float>)>& condition) const;
  void will_need_rows(std::span<const int64_t> rows) const;

  std::shared_ptr<const MappedArray> array_;
  std::shared_ptr<const std::vector<int64_t>> rows_;  // of the samples, in the file
  int64_t num_steps_ = 0;
  int64_t num_features_ = 0;
  int64_t bytes_of_sample_ = 0;
  InputScaling scaling_;
};

}  // namespace rnnlab
