// SPDX-License-Identifier: Apache-2.0
// Makes CPU tensors whose memory is reused. glibc returns large blocks to the system, which then fills every page of a
// new block with zeros: this takes up to a third of the time of a pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace rnnlab {

// Works like at::empty, without a gradient. Memory to which no tensor refers any more is kept for a later tensor of
// about that size. Used and kept memory together are at most 1.5 times the most memory ever used; the memory that was
// kept longest is freed first.
at::Tensor empty_pooled(at::IntArrayRef shape, const at::TensorOptions& options);

// Returns the number of kept bytes.
size_t kept_bytes();

}  // namespace rnnlab
