// SPDX-License-Identifier: Apache-2.0
#include "config/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string_view>
#include <utility>

#include "base/numbers.h"

namespace rnnlab::config {
namespace {

constexpr std::array<std::pair<std::string_view, Distribution>, 4> kNamed = {
    {{"uniform", {}},
     {"log_uniform", {.is_logarithmic = true}},
     {"int_uniform", {.is_integer = true}},
     {"int_log_uniform", {.is_logarithmic = true, .is_integer = true}}}};

const std::pair<std::string_view, Distribution>* find_named(const Value& value) {
  if (!value.is_map() || value.members.size() != 1) return nullptr;
  const auto* const found =
      std::ranges::find(kNamed, value.members[0].key, &std::pair<std::string_view, Distribution>::first);
  return found == kNamed.end() ? nullptr : found;
}

// Returns what is wrong with the limits, or "".
std::string complaint_about(const Distribution& distribution) {
  if (distribution.least >= distribution.most) return "the first number to be smaller than the second";
  if (distribution.is_logarithmic && distribution.least <= 0) return "numbers above 0";
  const auto is_whole = [](double x) { return std::abs(x) <= 1e15 && x == std::floor(x); };
  const bool is_wrong = distribution.is_integer && !(is_whole(distribution.least) && is_whole(distribution.most));
  return is_wrong ? "whole numbers" : "";
}

std::optional<double> number_in(const Value& value) {
  return value.is_scalar() ? parse_double(value.text) : std::nullopt;
}

// FNV-1a: keys have draws of their own, so that a key that leaves the sweep does not change the others.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

// The distributions of the standard library differ between machines, but the generator does not.
double unit_number(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

std::string text_of(double unit, const Distribution& distribution) {
  const bool is_integer = distribution.is_integer, is_log = distribution.is_logarithmic;
  const double first = is_log ? std::log(distribution.least) : distribution.least;
  // Each integer has an interval of length 1.
  const double most = distribution.most + (is_integer ? 1 : 0);
  const double drawn = first + unit * ((is_log ? std::log(most) : most) - first);
  const double number = is_log ? std::exp(drawn) : drawn;
  if (is_integer)
    return fmt::format("{}",
                       static_cast<int64_t>(std::clamp(std::floor(number), distribution.least, distribution.most)));
  const std::string text = fmt::format("{:.4g}", number);
  const double rounded = parse_double(text).value_or(number);
  return fmt::format("{}", std::clamp(rounded, distribution.least, distribution.most));
}

}  // namespace

bool is_distribution(const Value& value) { return find_named(value) != nullptr; }

std::vector<std::string> distribution_names() {
  std::vector<std::string> names;
  for (const auto& [name, distribution] : kNamed) names.emplace_back(name);
  return names;
}

std::optional<Distribution> read_distribution(const std::string& key, const Value& value, Findings& findings) {
  const auto& [name, kind] = *find_named(value);
  const Value& limits = value.members[0].value;
  const bool are_two = limits.is_sequence() && limits.items.size() == 2;
  const auto least = are_two ? number_in(limits.items[0]) : std::nullopt;
  const auto most = are_two ? number_in(limits.items[1]) : std::nullopt;
  Distribution distribution = kind;
  distribution.least = least.value_or(0);
  distribution.most = most.value_or(0);
  const std::string wanted = least && most ? complaint_about(distribution) : "a list of two numbers";
  if (wanted.empty()) return distribution;
  findings.add(limits.place, fmt::format("sweep of '{}': {}: got {}, expected {}", key, name, to_flow(limits), wanted));
  return std::nullopt;
}

std::vector<Value> draw(const Value& written, const std::string& key, size_t count, uint64_t seed) {
  std::mt19937_64 generator(seed ^ hash_of(key));
  Findings told_before;
  const bool is_listed = !is_distribution(written);
  const Distribution distribution =
      is_listed ? Distribution() : read_distribution(key, written, told_before).value_or(Distribution());
  std::vector<Value> values;
  for (size_t i = 0; i < count; ++i) {
    const double unit = unit_number(generator);
    if (is_listed) {
      values.push_back(written.items[static_cast<size_t>(unit * static_cast<double>(written.items.size()))]);
      continue;
    }
    Value value;
    value.kind = Value::Kind::kScalar;
    value.text = text_of(unit, distribution);
    value.place = written.place;
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace rnnlab::config
