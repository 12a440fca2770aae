// SPDX-License-Identifier: Apache-2.0
// Random numbers and hashes that are equal on every machine, and random names that are different in every process.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace rnnlab {

// SplitMix64, a small generator of random bits that yields the same numbers on every machine. Streams of neighbouring
// seeds are not correlated, so a single draw also serves to mix a seed. Do not use it for secrets.
// Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014.
class SplitMix64 {
 public:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio, rounded to an odd number

  explicit SplitMix64(uint64_t state) : state_(state) {}

  // The state grows by kStep with each draw: draw i (from 0) is the first draw of SplitMix64(state + i * kStep).
  uint64_t next() {
    state_ += kStep;
    uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
    return bits ^ (bits >> 31);
  }

 private:
  uint64_t state_;
};

// Returns the hash FNV-1a of a text, which is the same on every host. Do not use it for secrets.
inline uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

// Returns a name that no other process has drawn: 16 hexadecimal digits from the random numbers of the system.
inline std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace rnnlab
