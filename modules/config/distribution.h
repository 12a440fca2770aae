// SPDX-License-Identifier: Apache-2.0
// Values of a random search: what `sweep: {training.learning_rate: {log_uniform: [1e-4, 1e-2]}, num_runs: 20}` draws.
// The values are a pure function of the seed and the key, on every machine; a larger num_runs only adds values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"

namespace rnnlab::config {

struct Distribution {
  double least = 0, most = 0;
  bool is_logarithmic = false;  // equal factors are equally likely, not equal differences
  bool is_integer = false;
};

// Returns whether the value is a map with the name of a distribution: uniform, log_uniform, int_uniform and
// int_log_uniform.
bool is_distribution(const Value& value);

// Returns their names.
std::vector<std::string> distribution_names();

// Reads such a map. Returns nullopt, and adds a finding, if its value is not a list of two numbers, the smaller one
// first, or not of numbers that the distribution can have.
std::optional<Distribution> read_distribution(const std::string& key, const Value& value, Findings& findings);

// Returns `count` values at the place of `written`. Numbers have four significant digits; integers have all digits. Of
// a list, each item is equally likely.
std::vector<Value> draw(const Value& written, const std::string& key, size_t count, uint64_t seed);

}  // namespace rnnlab::config
