// The order in which the sides of a measurement take their turns. Each odd round draws an order at random, and the
// round after it takes the same order backwards. So over both rounds a change that is as fast all the time, such as a
// machine that gets warm, meets all sides alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rnnlab {

// The sides 0 to `count` - 1 in the order of a round, which counts from 1. The same seed gives the same orders on every
// machine.
std::vector<size_t> order_of_round(uint64_t seed, int64_t round, size_t count);

// The seed that the random name of a measurement is, 16 hexadecimal digits (base/random_name.h).
uint64_t seed_of_measurement(const std::string& name);

}  // namespace rnnlab
