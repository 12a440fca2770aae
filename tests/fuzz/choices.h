// Bytes of an input as choices, for targets that build what they read instead of reading bytes: settings and changes
// that a mutation of text would hardly ever hit. An input that is used up chooses zeros.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/schema.h"

namespace rnnlab::testing {

class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool is_used_up() const { return bytes_.empty(); }
  uint8_t byte();
  // From 0 to count - 1.
  size_t below(size_t count);
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::span<const uint8_t> bytes_;
};

// YAML that sets some of the keys of a struct to values that their fields take, numbers small ones.
std::string some_settings(const config::StructSpec& spec, Choices& choices);

}  // namespace rnnlab::testing
