// What samples from files must fulfil before anything is trained on them. `origin` is the file, for messages; samples,
// steps and features count from 0.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace rnnlab {

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

}  // namespace rnnlab
