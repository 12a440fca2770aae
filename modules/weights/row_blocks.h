// The gates of a weight or bias: its rows in equal blocks, one a gate. What the layouts of libraries differ in.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "recurrent/direction_weights.h"

namespace rnnlab {

// (G * H, ...) with its G blocks in another order: block i of the result is block order[i].
at::Tensor reordered(const at::Tensor& rows, const std::vector<int64_t>& order);

DirectionWeights reordered(const DirectionWeights& weights, const std::vector<int64_t>& order);

// The rows of the second below those of the first; so many rows from one on.
DirectionWeights stacked(const DirectionWeights& first, const DirectionWeights& second);
DirectionWeights rows_of(const DirectionWeights& weights, int64_t from, int64_t num_rows);

// A bias as two equal ones that add up to it, exactly but for subnormal numbers.
at::Tensor half(const at::Tensor& bias);

}  // namespace rnnlab
