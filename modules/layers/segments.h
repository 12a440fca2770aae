// SPDX-License-Identifier: Apache-2.0
// Says which steps of a sequence belong together: its length, and the steps before which the states are zero, as at the
// first step of an episode or of a document in a stream. A bidirectional layer passes no state over such a border in
// either direction.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

#include "layers/parameters.h"

namespace rnnlab {

struct Segments {
  at::Tensor lengths;  // (B) int64 on the CPU, each from 1 to T; undefined if every sequence is whole
  at::Tensor starts;   // (T, B) bool: no state passes from step t - 1 to step t; undefined if no step starts
};

// Returns whether each step lies within its sequence's length, (T, B, 1) bool on the CPU.
at::Tensor steps_within(const at::Tensor& lengths, int64_t num_steps);

// Returns the steps within the lengths that start in the reading order of a direction, (T, B, 1) bool, dense: forward,
// those of `starts`; in reverse, the steps before them. The first step that is read in reverse never starts, because no
// step of `starts` follows it. Undefined if no step starts.
at::Tensor starts_in_order(const Segments& segments, Direction direction);

// Returns starts_in_order for each direction; the second is undefined in a layer that only reads forward.
std::array<at::Tensor, 2> starts_by_direction(const Segments& segments, int64_t num_directions);

// Returns the tensor with zeros where the condition, which is broadcast, holds; other values may be NaN there. An
// undefined condition holds nowhere.
at::Tensor zero_where(const at::Tensor& condition, const at::Tensor& tensor);

}  // namespace rnnlab
