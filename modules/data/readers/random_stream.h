// Random numbers by counting: number i of a stream is a pure function of the stream's key and i, so threads need not
// agree on an order. Plain IEEE arithmetic without the C library's functions: the same bits on every machine. Not for
// secrets. Source: base/split_mix64.h; Box and Muller, 1958.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

namespace rnnlab {

class RandomStream {
 public:
  // Streams of different keys are independent. A key is, say, {purpose, seed, sample}.
  explicit RandomStream(std::initializer_list<uint64_t> key);

  uint64_t bits(uint64_t index) const;

  // The normal numbers 2 * pair and 2 * pair + 1 of the stream, from N(0, 1).
  std::pair<double, double> normal_pair(uint64_t pair) const;

  // The next in [low, high), from a counter that starts at 0.
  double next_uniform(double low, double high);

  // The next in [0, bound), bound > 0; even but for bound / 2^64.
  int64_t next_below(int64_t bound);

 private:
  uint64_t key_ = 0;
  uint64_t counter_ = 0;
};

struct CosSin {
  double cos;
  double sin;
};

// Of an angle in turns (1 is 360 degrees), with an error below 1e-10.
CosSin cos_sin(double turns);

}  // namespace rnnlab
