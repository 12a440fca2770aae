// SPDX-License-Identifier: Apache-2.0
#include "train/loop/optimizers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace rnnlab {
namespace {

int64_t num_velocities(const TrainingSettings& settings) { return settings.momentum != 0.0 ? 1 : 0; }

constexpr std::array kOptimizers = {
    OptimizerInfo{OptimizerKind::kSgd, make_sgd, num_velocities, /*has_momentum=*/true},
    OptimizerInfo{OptimizerKind::kAdam, make_adam, [](const TrainingSettings&) { return int64_t{2}; }},
    OptimizerInfo{OptimizerKind::kAdamW, make_adam, [](const TrainingSettings&) { return int64_t{2}; }},
    OptimizerInfo{OptimizerKind::kRmsProp, make_rms_prop,
                  [](const TrainingSettings& settings) { return 1 + num_velocities(settings); },
                  /*has_momentum=*/true},
};

}  // namespace

const OptimizerInfo& info_of(OptimizerKind kind) {
  const auto found = std::ranges::find(kOptimizers, kind, &OptimizerInfo::kind);
  RNNLAB_INVARIANT(found != kOptimizers.end(), "an optimiser must be in the list of optimisers");
  return *found;
}

std::unique_ptr<Optimizer> make_optimizer(const TrainingSettings& settings, std::vector<NamedTensor> parameters) {
  return info_of(settings.optimizer).make(settings, std::move(parameters));
}

}  // namespace rnnlab
