// SPDX-License-Identifier: Apache-2.0
#include "layers/segments.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace rnnlab {

at::Tensor starts_in_order(const Segments& segments, Direction direction) {
  const at::Tensor& starts = segments.starts;
  if (!starts.defined()) return starts;
  const int64_t num_steps = starts.size(0), num_shifted = direction == Direction::kForward ? 0 : 1;
  const at::Tensor next = starts.narrow(0, num_shifted, num_steps - num_shifted);
  const at::Tensor in_order = at::cat({next, at::zeros_like(starts.narrow(0, 0, num_shifted))});
  if (!segments.lengths.defined()) return in_order;
  const at::Tensor steps = at::arange(num_steps).unsqueeze(1);
  return in_order.logical_and(steps.lt(segments.lengths.unsqueeze(0) - num_shifted).to(starts.device()));
}

at::Tensor without_started(const at::Tensor& initial, const Segments& segments, int64_t num_directions) {
  if (!initial.defined() || !segments.starts.defined()) return initial;
  const at::Tensor states = initial.view({-1, num_directions, initial.size(1), initial.size(2)});
  const at::Tensor is_forward = at::arange(num_directions, segments.starts.options().dtype(at::kLong)).eq(0);
  const at::Tensor is_started = segments.starts[0].view({1, 1, -1, 1}).logical_and(is_forward.view({1, -1, 1, 1}));
  return at::where(is_started, 0, states).view(initial.sizes());
}

}  // namespace rnnlab
