// Arrays as files hold them -> the tensors of samples. Whatever does not fit the task is refused with the file's name,
// exit code kData, and kDiverged for NaN or Inf; nothing is cut off, and nothing scaled.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/readers/array.h"

namespace rnnlab {

// What samples from files must fulfil before anything is trained on them. `origin` is the file, for messages; samples,
// steps and features count from 0.

// UserError kDiverged names the first NaN or Inf of float32 inputs (N, T, F) or targets (N, K).
void require_finite_inputs(const at::Tensor& inputs, const std::string& origin);
void require_finite_targets(const at::Tensor& targets, const std::string& origin);

// UserError kData where counts differ.
void require_equal_counts(int64_t num_inputs, const std::string& inputs_origin, int64_t num_others,
                          const std::string& others_origin);

// UserError kData names the first class (N) outside 0 .. num_classes - 1.
void require_classes(const at::Tensor& classes, int64_t num_classes, const std::string& origin);

// UserError kData names the first length (N) outside 1 .. num_steps.
void require_lengths(const at::Tensor& lengths, int64_t num_steps, const std::string& origin);

// (N, T) or (N, T, ...) of any type -> (N, T, F) float32, finite; what follows the steps is flattened to F.
at::Tensor inputs_from(const Array& array, const std::string& origin);

// kAutomatic: classification for (N) of integers, else regression.
Task task_for(const Array& targets, TaskChoice choice);

// (N) or (N, 1) whole numbers from 0 -> (N) int64.
at::Tensor classes_from(const Array& array, const std::string& origin);

// (N) or (N, K) -> (N, K) float32, finite; for Task::kBinary from 0 to 1.
at::Tensor values_from(const Array& array, Task task, const std::string& origin);

// (N) whole numbers -> (N) int64.
at::Tensor lengths_from(const Array& array, const std::string& origin);

}  // namespace rnnlab
