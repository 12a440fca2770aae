#include "data/permutation.h"

#include <ATen/ops/arange.h>

#include <utility>

#include "base/error.h"
#include "base/split_mix64.h"

namespace rnnlab {
namespace {

// From 0 to bound - 1. Draws below 2^64 mod bound are thrown away: they would favour the small numbers.
uint64_t draw_below(SplitMix64& random, uint64_t bound) {
  const uint64_t threshold = (0 - bound) % bound;
  uint64_t draw = random.next();
  while (draw < threshold) draw = random.next();
  return draw % bound;
}

// Seeds and epochs are small and near each other; one round of mixing sets their streams apart.
uint64_t stream_of(uint64_t seed, int64_t epoch) {
  return SplitMix64(SplitMix64(seed).next() ^ static_cast<uint64_t>(epoch)).next();
}

}  // namespace

at::Tensor permutation(int64_t n, uint64_t seed, int64_t epoch) {
  RNNLAB_INVARIANT(n >= 0, "a permutation of fewer than zero samples");
  at::Tensor order = at::arange(n, at::kLong);
  int64_t* const items = order.mutable_data_ptr<int64_t>();
  SplitMix64 random(stream_of(seed, epoch));
  for (int64_t last = n - 1; last > 0; --last) {
    std::swap(items[last], items[draw_below(random, static_cast<uint64_t>(last) + 1)]);
  }
  return order;
}

}  // namespace rnnlab
