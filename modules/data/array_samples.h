// SPDX-License-Identifier: Apache-2.0
// Reads arrays from files as the tensors of samples. An array that does not fit the task throws UserError kData with
// the name of the file, and NaN or Inf throws kDiverged; samples, steps and features count from 0 in messages. No data
// are cut off or scaled.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/readers/array.h"

namespace rnnlab {

struct ArrayFiles {
  std::filesystem::path inputs;
  std::filesystem::path targets;  // empty: no targets
  std::filesystem::path lengths;  // empty: every sequence is whole
};

// What a file of targets holds, beside its numbers. kAutomatic: classes if they are integers (N), or (N, T) of each
// step; else numbers.
struct TargetArray {
  TaskChoice task = TaskChoice::kAutomatic;
  TargetPer per = TargetPer::kSequence;
  MissingTargets missing = MissingTargets::kRefused;
};

struct ArrayPart {
  Samples samples;
  Task task = Task::kClassification;
  ElementType input_type = ElementType::kU8;
};

// Inputs are (N, T) or (N, T, ...) of any type, of which the dimensions after T are flattened. Mapped inputs are not
// read: NaN and Inf are found when they are. Classes are whole numbers (N) or (N, 1), numbers (N) or (N, K), of each
// step (N, T) or (N, T, K), and lengths whole numbers (N). What is beyond a length may have any value: NaN and Inf in
// such inputs become 0, while other values stay, because the fingerprint of the data has them; targets become 0.
ArrayPart read_arrays(const ArrayFiles& files, ArrayReader read, const TargetArray& target, InputMemory memory);

// Throws UserError kData with the first class, (N) or (N, T), outside 0 .. num_classes - 1.
void require_classes(const at::Tensor& classes, int64_t num_classes, const std::string& origin,
                     MissingTargets missing = MissingTargets::kRefused);

// Converts (N, T) or (N, T, ...) of any type to (N, T, F) float32.
at::Tensor inputs_from(const Array& array, const std::string& origin);

// Converts (N) or (N, 1) whole numbers from 0 to (N) int64.
at::Tensor classes_from(const Array& array, const std::string& origin,
                        MissingTargets missing = MissingTargets::kRefused);

}  // namespace rnnlab
