// SPDX-License-Identifier: Apache-2.0
// Defines an experiment file that trains in a moment.
#pragma once

#include <string>
#include <vector>

namespace rnnlab::testing {

inline constexpr const char* kTinyYaml = R"(name: tiny
device: cpu
layer: fused
data: {source: digits, num_train: 200, num_valid: 50}
model: {hidden_size: 8}
training: {epochs: 3, batch_size: 50}
)";

using Words = std::vector<std::string>;

// Returns the words of a command line or overrides, and then `more` of them.
inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace rnnlab::testing
