// SPDX-License-Identifier: Apache-2.0
// The names of an enum's values, as configuration files and messages write them. They stand next to the enum, in
// namespace rnnlab:
//   RNNLAB_ENUM_NAMES(Cell, {kLstm, "lstm"}, {kGru, "gru"});
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rnnlab::config {

template <class E>
struct EnumNames;

#define RNNLAB_ENUM_NAMES(Enum, ...)                                                                \
  template <>                                                                                       \
  struct config::EnumNames<Enum> {                                                                  \
    using enum Enum;                                                                                \
    static constexpr auto kNames = std::to_array<std::pair<Enum, std::string_view>>({__VA_ARGS__}); \
  }

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  EnumNames<E>::kNames;
};

// Returns the name of a value that kNames lists; "" for every other value.
template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  for (const auto& [listed, name] : EnumNames<E>::kNames)
    if (listed == value) return name;
  return "";
}

template <NamedEnum E>
constexpr std::optional<E> from_name(std::string_view name) {
  for (const auto& [value, listed] : EnumNames<E>::kNames)
    if (listed == name) return value;
  return std::nullopt;
}

template <NamedEnum E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& [value, name] : EnumNames<E>::kNames) names.emplace_back(name);
  return names;
}

}  // namespace rnnlab::config
