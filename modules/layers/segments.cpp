// SPDX-License-Identifier: Apache-2.0
#include "layers/segments.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace rnnlab {

at::Tensor steps_within(const at::Tensor& lengths, int64_t num_steps) {
  return at::arange(num_steps).view({num_steps, 1, 1}).lt(lengths.view({1, -1, 1}));
}

at::Tensor starts_in_order(const Segments& segments, Direction direction) {
  if (!segments.starts.defined()) return {};
  const at::Tensor starts = segments.starts.unsqueeze(2);
  if (direction == Direction::kForward && !segments.lengths.defined()) return starts.contiguous();
  const int64_t num_steps = starts.size(0), num_shifted = direction == Direction::kForward ? 0 : 1;
  const at::Tensor next = starts.narrow(0, num_shifted, num_steps - num_shifted);
  at::Tensor in_order = at::cat({next, at::zeros_like(starts.narrow(0, 0, num_shifted))});
  if (!segments.lengths.defined()) return in_order;
  return in_order.logical_and(steps_within(segments.lengths - num_shifted, num_steps).to(starts.device()));
}

std::array<at::Tensor, 2> starts_by_direction(const Segments& segments, int64_t num_directions) {
  return {starts_in_order(segments, Direction::kForward),
          num_directions == 1 ? at::Tensor() : starts_in_order(segments, Direction::kReverse)};
}

at::Tensor zero_where(const at::Tensor& condition, const at::Tensor& tensor) {
  return condition.defined() ? at::where(condition, 0, tensor) : tensor;
}

}  // namespace rnnlab
