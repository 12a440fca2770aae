// The order in which an epoch visits the samples: a pure function of its arguments, the same on every machine, so that
// going on at epoch 7 needs no state but the number 7. Not for cryptography.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace rnnlab {

// (n) int64 on the CPU: 0 .. n-1, shuffled by Fisher and Yates' method (Knuth, The Art of Computer Programming
// 2, 3.4.2, algorithm P) on splitmix64 (Steele, Lea, Flood 2014), every order equally likely but for the seed's 64
// bits.
at::Tensor permutation(int64_t n, uint64_t seed, int64_t epoch);

}  // namespace rnnlab
