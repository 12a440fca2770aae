// SPDX-License-Identifier: Apache-2.0
// Uses the bytes of an input as choices, for targets that build their settings and changes instead of reading bytes,
// because mutations of text would rarely produce them. An input without further bytes chooses zeros.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/config/schema.h"

namespace rnnlab::testing {

class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool is_used_up() const { return bytes_.empty(); }
  uint8_t byte();
  // Returns a number from 0 to count - 1.
  size_t below(size_t count);
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::span<const uint8_t> bytes_;
};

// Returns YAML that sets some of the keys of a struct to values that their fields accept, with small numbers.
std::string some_settings(const config::StructSpec& spec, Choices& choices);

}  // namespace rnnlab::testing
