// What a trainer is told, and what follows from it before the first step: which batches, and how many steps they make.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "data/batches.h"
#include "distributed/ranks.h"
#include "training/batch_loop.h"
#include "training/observer.h"
#include "training/precision.h"
#include "training/training_settings.h"

namespace rnnlab {

struct TrainerOptions {
  TrainingSettings settings;
  uint64_t seed = 0;  // of batch order and dropout
  c10::Device device = c10::Device(c10::kCPU);
  Precision precision = Precision::kFp32;
  Placement placement = Placement::kAutomatic;
  Ranks* ranks = nullptr;  // that train this run with this process, each a part of every batch; null: none
};

Batches make_train_batches(const Samples& train, const TrainerOptions& options);

// In their own order; nothing where there are no samples.
std::optional<Batches> make_valid_batches(const Samples& valid, const TrainerOptions& options);

// UserError kUsage where the steps are more than can be counted.
RunPlan make_plan(const TrainingSettings& settings, const Batches& train, const std::optional<Batches>& valid);

Replay replay(const TrainerOptions& options);

}  // namespace rnnlab
