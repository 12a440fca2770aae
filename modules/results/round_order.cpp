#include "results/round_order.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/split_mix64.h"

namespace rnnlab {

std::vector<size_t> order_of_round(uint64_t seed, int64_t round, size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  SplitMix64 random(seed + static_cast<uint64_t>((round - 1) / 2));
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
  if (round % 2 == 0) std::ranges::reverse(order);
  return order;
}

uint64_t seed_of_measurement(const std::string& name) {
  constexpr int kHexadecimal = 16;
  uint64_t seed = 0;
  std::from_chars(name.data(), name.data() + name.size(), seed, kHexadecimal);
  return seed;
}

}  // namespace rnnlab
