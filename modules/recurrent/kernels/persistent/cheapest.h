// The choice among several kernels of one size by what they would take.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

namespace rnnlab::kernels::persistent {

// The cost of what does not fit, or is not asked for.
constexpr double kIsNotThere = std::numeric_limits<double>::infinity();

// Calls use(value, cost) with a value of the type that costs least, the first of such.
template <class... Types, class Use>
void with_cheapest(const std::array<double, sizeof...(Types)>& costs, const Use& use) {
  const auto best = std::min_element(costs.begin(), costs.end()) - costs.begin();
  int index = 0;
  ((index++ == best ? use(Types(), costs[best]) : void()), ...);
}

}  // namespace rnnlab::kernels::persistent
