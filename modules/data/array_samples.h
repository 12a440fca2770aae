// SPDX-License-Identifier: Apache-2.0
// Converts arrays from files to the tensors of samples. An array that does not fit the task throws UserError kData with
// the name of the file, and NaN or Inf throws kDiverged. No data are cut off or scaled.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/mapped_inputs.h"
#include "data/readers/array.h"

namespace rnnlab {

// The functions below check samples from files before training. `origin` is the file, for messages; samples, steps and
// features count from 0.

// Throws UserError kDiverged with the first NaN or Inf of float32 inputs (N, T, F) or targets (N, K).
void require_finite_inputs(const at::Tensor& inputs, const std::string& origin);
void require_finite_targets(const at::Tensor& targets, const std::string& origin,
                            MissingTargets missing = MissingTargets::kRefused);

// Throws UserError kData if the counts differ.
void require_equal_counts(int64_t num_inputs, const std::string& inputs_origin, int64_t num_others,
                          const std::string& others_origin);

// Throws UserError kData with the first class, (N) or (N, T), outside 0 .. num_classes - 1.
void require_classes(const at::Tensor& classes, int64_t num_classes, const std::string& origin,
                     MissingTargets missing = MissingTargets::kRefused);

// Throws UserError kData with the first length (N) outside 1 .. num_steps.
void require_lengths(const at::Tensor& lengths, int64_t num_steps, const std::string& origin);

// Throws as require_finite_targets, and UserError kData with the first binary target (Task::kBinary) outside 0 to 1.
void require_values(const at::Tensor& targets, Task task, const std::string& origin,
                    MissingTargets missing = MissingTargets::kRefused);

// Sets the targets (N, T, ...) of steps beyond their lengths (N) to 0. They mean nothing and may have any value.
void clear_padding_of_targets(at::Tensor& targets, const at::Tensor& lengths);

// Sets NaN and Inf in the steps of inputs (N, T, F) beyond their lengths (N) to 0. Other values stay, because the
// fingerprint of the data has them.
void clear_nan_in_padding(at::Tensor& inputs, const at::Tensor& lengths);

// Converts (N, T) or (N, T, ...) of any type to (N, T, F) float32; the dimensions after T are flattened to F.
at::Tensor inputs_from(const Array& array, const std::string& origin);

// Returns the same inputs of an npy file without reading them: NaN and Inf are found when they are read.
std::shared_ptr<const MappedInputs> mapped_inputs_from(const std::filesystem::path& file);

// Returns the task that `choice` names. kAutomatic: classification for integer targets (N), or (N, T) of each step;
// else regression.
Task task_for(const Array& targets, TaskChoice choice, TargetPer per = TargetPer::kSequence);

// Converts (N) or (N, 1) whole numbers from 0 to (N) int64.
at::Tensor classes_from(const Array& array, const std::string& origin,
                        MissingTargets missing = MissingTargets::kRefused);

// Converts (N) or (N, K) to (N, K) float32, finite; for Task::kBinary from 0 to 1.
at::Tensor values_from(const Array& array, Task task, const std::string& origin,
                       MissingTargets missing = MissingTargets::kRefused);

// Converts (N, T) whole numbers to (N, T) int64: the class of each step.
at::Tensor classes_of_steps_from(const Array& array, const std::string& origin,
                                 MissingTargets missing = MissingTargets::kRefused);

// Converts (N, T) or (N, T, K) to (N, T, K) float32.
at::Tensor values_of_steps_from(const Array& array, const std::string& origin);

// Converts (N) whole numbers to (N) int64.
at::Tensor lengths_from(const Array& array, const std::string& origin);

}  // namespace rnnlab
