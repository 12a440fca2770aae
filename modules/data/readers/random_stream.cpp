#include "data/readers/random_stream.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/split_mix64.h"

namespace rnnlab {
namespace {

constexpr double kTwoToMinus53 = 0x1p-53;

double uniform(uint64_t bits) { return static_cast<double>(bits >> 11) * kTwoToMinus53; }

// The natural logarithm of a normal x > 0, with an error below 1e-13: x = m * 2^e with m near 1, and
// log m = 2 artanh((m - 1) / (m + 1)).
double logarithm(double x) {
  constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;  // the bits of sqrt(1/2)
  const auto bits = std::bit_cast<uint64_t>(x);
  const auto exponent = static_cast<int64_t>(bits - kSqrtHalf) >> 52;
  const auto mantissa = std::bit_cast<double>(bits - (static_cast<uint64_t>(exponent) << 52));
  const double z = (mantissa - 1) / (mantissa + 1);
  const double w = z * z;
  const double series =
      1 + w * (1. / 3 + w * (1. / 5 + w * (1. / 7 + w * (1. / 9 + w * (1. / 11 + w * (1. / 13 + w * (1. / 15)))))));
  return static_cast<double>(exponent) * std::numbers::ln2 + 2 * z * series;
}

}  // namespace

// Taylor's series on an eighth of a turn to either side of the nearest quarter.
CosSin cos_sin(double turns) {
  const double quarter = std::floor(4 * turns + 0.5);
  const double t = (4 * turns - quarter) * (std::numbers::pi / 2);
  const double w = t * t;
  const double sine = t * (1 - w / 6 * (1 - w / 20 * (1 - w / 42 * (1 - w / 72 * (1 - w / 110)))));
  const double cosine = 1 - w / 2 * (1 - w / 12 * (1 - w / 30 * (1 - w / 56 * (1 - w / 90 * (1 - w / 132)))));
  switch (static_cast<int64_t>(quarter) & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

RandomStream::RandomStream(std::initializer_list<uint64_t> key) {
  for (const uint64_t part : key) key_ = SplitMix64(key_ + SplitMix64(part).next()).next();
}

uint64_t RandomStream::bits(uint64_t index) const { return SplitMix64(key_ + index * SplitMix64::kStep).next(); }

std::pair<double, double> RandomStream::normal_pair(uint64_t pair) const {
  const double above_zero = uniform(bits(2 * pair)) + kTwoToMinus53;
  const double radius = std::sqrt(-2 * logarithm(above_zero));
  const CosSin direction = cos_sin(uniform(bits(2 * pair + 1)));
  return {radius * direction.cos, radius * direction.sin};
}

double RandomStream::next_uniform(double low, double high) { return low + (high - low) * uniform(bits(counter_++)); }

int64_t RandomStream::next_below(int64_t bound) {
  return static_cast<int64_t>(bits(counter_++) % static_cast<uint64_t>(bound));
}

}  // namespace rnnlab
