// What the file says under `checkpoint:`: when a run's state is saved, and how much of it is kept. None of it changes
// what is trained.
#pragma once

#include <cstdint>
#include <optional>

#include "config/schema.h"

namespace rnnlab {

struct CheckpointSettings {
  bool save = true;
  int64_t every_epochs = 1;
  double every_seconds = 10;
  std::optional<int64_t> every_steps;
  bool best = true;
  int64_t keep = 2;

  static const config::Schema<CheckpointSettings>& schema();
};

}  // namespace rnnlab
