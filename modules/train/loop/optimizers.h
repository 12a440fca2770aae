// SPDX-License-Identifier: Apache-2.0
// The record of an optimiser: what it reads of the settings, how large its state is, and how it is made. Each optimiser
// has a file in this folder with its class and its record, and a line in optimizer_list.inc. All code that treats
// optimisers differently asks the record.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"

namespace rnnlab {

enum class OptimizerKind {
#define RNNLAB_OPTIMIZER(enumerator, name) enumerator,
#include "train/loop/optimizer_list.inc"
};

template <>
struct config::EnumNames<OptimizerKind> {
#define RNNLAB_OPTIMIZER(enumerator, name) std::pair<OptimizerKind, std::string_view>(OptimizerKind::enumerator, #name),
  static constexpr std::array kNames = {
#include "train/loop/optimizer_list.inc"
  };
};

class Optimizer;          // train/loop/optimizer.h
struct NamedTensor;       // layers/parameters.h
struct TrainingSettings;  // train/loop/training_settings.h

struct OptimizerInfo {
  std::unique_ptr<Optimizer> (*make)(const TrainingSettings& settings, std::vector<NamedTensor> parameters);

  // Returns how many tensors of a weight's size the state has for each weight.
  int64_t (*num_copies)(const TrainingSettings& settings);

  // The keys of `training:` that it reads, besides learning_rate, weight_decay and those that clip gradients.
  std::array<std::string_view, 3> keys;

  std::string_view weight_decay = "L2 term in the gradient";  // what the key means for it, for the key's help

  bool reads(std::string_view key) const;
};

#define RNNLAB_OPTIMIZER(enumerator, name) extern const OptimizerInfo name##_optimizer;
#include "train/loop/optimizer_list.inc"

// Throws InvariantError for a value that the list does not have.
const OptimizerInfo& info_of(OptimizerKind kind);

// Returns the names of the optimisers that read the key.
std::vector<std::string> optimizers_that_read(std::string_view key);

}  // namespace rnnlab
