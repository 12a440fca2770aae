// Tensors on the CPU whose memory is used again. glibc returns large blocks to the system, which fills every page of
// the next ones with zeros first: up to a third of the time of a pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace rnnlab {

// Like at::empty, without a gradient. Once nothing refers to it any more its memory waits for the next tensor of about
// the size. In use and waiting together it is at most half more than was ever in use; what waits longest goes first.
at::Tensor empty_pooled(at::IntArrayRef shape, const at::TensorOptions& options);

// Bytes that wait.
size_t kept_bytes();

}  // namespace rnnlab
