// SPDX-License-Identifier: Apache-2.0
// How the steps of a sample lie in a batch.
#pragma once

#include <cstddef>
#include <cstring>

namespace rnnlab {

// Copies the steps of sample b of a batch to their places in `out` (T, B, F).
inline void copy_steps(const std::byte* steps, size_t num_steps, size_t step_bytes, size_t b, size_t batch_size,
                       std::byte* out) {
  for (size_t t = 0; t < num_steps; ++t)
    std::memcpy(out + (t * batch_size + b) * step_bytes, steps + t * step_bytes, step_bytes);
}

}  // namespace rnnlab
