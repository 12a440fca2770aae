// SPDX-License-Identifier: Apache-2.0
// Counts backward passes of persistent layers whose kernels write gates' gradients as float16.
#pragma once

#include <cstdint>
#include <functional>

namespace rnnlab {

// Returns how many backward passes of a layer in a direction had gates' gradients in float16 with exponents while
// `work` ran. The table of exponents is the only int8 tensor that a pass allocates.
int64_t num_half_passes_during(const std::function<void()>& work);

}  // namespace rnnlab
