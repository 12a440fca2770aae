#include "data/permutation.h"

#include <ATen/ops/arange.h>

#include <utility>

#include "base/error.h"

namespace rnnlab {
namespace {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t state) : state_(state) {}

  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ull;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBull;
    return bits ^ (bits >> 31);
  }

  // From 0 to bound - 1. Draws below 2^64 mod bound are thrown away: they would favour the small numbers.
  uint64_t below(uint64_t bound) {
    const uint64_t threshold = (0 - bound) % bound;
    uint64_t draw = next();
    while (draw < threshold) draw = next();
    return draw % bound;
  }

 private:
  uint64_t state_;
};

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
    std::swap(items[last], items[random.below(static_cast<uint64_t>(last) + 1)]);
  }
  return order;
}

}  // namespace rnnlab
