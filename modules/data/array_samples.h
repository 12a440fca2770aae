// Arrays as files hold them -> the tensors of samples. Whatever does not fit the task is refused with the file's name,
// exit code kData, and kDiverged for NaN or Inf; nothing is cut off, and nothing scaled.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/readers/array.h"

namespace rnnlab {

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
