// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/layer_parts.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace rnnlab {
namespace {

// If each of two layers uses more of the GPU than this, running them at the same time does not help.
constexpr double kMostOfGpu = 0.6;
// The cost of a part, which starts its kernel and its product, in steps.
constexpr double kCostOfPart = 12;
constexpr int64_t kFewestSteps = 16;

// This number balances the time for which layers wait, (L - 1) parts, and the cost of the parts.
int64_t number_of_parts(int64_t num_steps, size_t num_layers, double part_of_gpu) {
  if (num_layers == 1 || part_of_gpu > kMostOfGpu) return 1;
  const double balanced = std::sqrt(static_cast<double>(num_layers - 1) * static_cast<double>(num_steps) / kCostOfPart);
  return std::clamp<int64_t>(std::llround(balanced), 1, std::max<int64_t>(1, num_steps / kFewestSteps));
}

}  // namespace

std::vector<Steps> parts_of_steps(int64_t num_steps, size_t num_layers, double part_of_gpu) {
  const int64_t count = number_of_parts(num_steps, num_layers, part_of_gpu);
  std::vector<Steps> parts;
  for (int64_t i = 0; i < count; ++i) parts.push_back({num_steps * i / count, num_steps * (i + 1) / count});
  return parts;
}

at::Tensor rows_of(const at::Tensor& tensor, Direction direction, const Steps& steps) {
  if (!tensor.defined() || steps.size() == tensor.size(0)) return tensor;
  return tensor.narrow(0, first_position_of(direction, steps, tensor.size(0)), steps.size());
}

PersistentTrace part_of(const PersistentTrace& trace, Direction direction, const Steps& steps) {
  if (steps.size() == trace.num_steps()) return trace;
  const int64_t first = first_position_of(direction, steps, trace.num_steps());
  PersistentTrace part = trace;
  for (at::Tensor* tensor : {&part.input, &part.gates, &part.more_kept, &part.input_operand, &part.starts})
    *tensor = rows_of(*tensor, direction, steps);
  for (at::Tensor* states : {&part.hidden, &part.cell, &part.half_hidden, &part.read_hidden})
    if (states->defined()) *states = states->narrow(0, first, steps.size() + 1);
  if (part.tokens.defined())
    part.tokens = part.tokens.narrow(0, first * trace.batch_size(), steps.size() * trace.batch_size());
  return part;
}

PersistentGradients part_of(const PersistentGradients& gradients, Direction direction, const Steps& steps,
                            size_t index) {
  PersistentGradients part = gradients;
  for (at::Tensor* tensor :
       {&part.output, &part.cell_output, &part.sides, &part.input_side, &part.input, &part.exponents})
    *tensor = rows_of(*tensor, direction, steps);
  const bool has_one_side = gradients.recurrent_side.is_same(gradients.input_side);
  part.recurrent_side = has_one_side ? part.input_side : rows_of(gradients.recurrent_side, direction, steps);
  const auto part_index = static_cast<int64_t>(index);
  if (gradients.bias_sums.defined()) part.bias_sums = gradients.bias_sums[part_index];
  if (const at::Tensor& all = gradients.largest_exponents; all.defined()) {
    part.largest_exponents = all.narrow(0, part_index, 1);
    if (part_index + 1 < all.size(0)) part.later_exponent = all.narrow(0, part_index + 1, 1);
  }
  return part;
}

at::Tensor ParameterConversion::make_room_for(const at::Tensor& parameter, at::ScalarType type) {
  if (!parameter.defined() || parameter.scalar_type() == type) return parameter;
  from_.push_back(parameter);
  to_.push_back(at::empty(parameter.sizes(), parameter.options().dtype(type).requires_grad(false)));
  return to_.back();
}

// One kernel for all tensors has one block for 65,536 numbers, which would be few blocks for a single tensor.
void ParameterConversion::run() const {
  if (to_.size() == 1) to_[0].copy_(from_[0]);
  if (to_.size() > 1) at::_foreach_copy_(to_, from_);
}

}  // namespace rnnlab
