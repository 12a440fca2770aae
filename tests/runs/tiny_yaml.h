// SPDX-License-Identifier: Apache-2.0
// Defines an experiment file that trains in a moment.
#pragma once

namespace rnnlab::testing {

inline constexpr const char* kTinyYaml = R"(name: tiny
device: cpu
layer: fused
data: {source: digits, num_train: 200, num_valid: 50}
model: {hidden_size: 8}
training: {epochs: 3, batch_size: 50}
)";

}  // namespace rnnlab::testing
