// SPDX-License-Identifier: Apache-2.0
#include "train/loop/optimizers.h"

#include <algorithm>

#include "base/error.h"

namespace rnnlab {

const OptimizerInfo& info_of(OptimizerKind kind) {
  switch (kind) {
#define RNNLAB_OPTIMIZER(enumerator, name) \
  case OptimizerKind::enumerator:          \
    return name##_optimizer;
#include "train/loop/optimizer_list.inc"
  }
  fail_invariant("a listed optimiser", __FILE__, __LINE__, "info_of does not know the optimiser");
}

std::vector<std::string> optimizers_that_read(std::string_view key) {
  std::vector<std::string> names;
  for (const auto& [kind, name] : config::EnumNames<OptimizerKind>::kNames)
    if (info_of(kind).reads(key)) names.emplace_back(name);
  return names;
}

bool OptimizerInfo::reads(std::string_view key) const { return std::ranges::count(keys, key) > 0; }

}  // namespace rnnlab
