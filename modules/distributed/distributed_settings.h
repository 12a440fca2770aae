// Holds the settings under `distributed:` in an experiment file: how long the processes of one run wait for each other.
// The settings do not change the training.
#pragma once

#include "config/schema.h"

namespace rnnlab {

struct DistributedSettings {
  double timeout = 30;
  double start_timeout = 120;

  static const config::Schema<DistributedSettings>& schema();
};

}  // namespace rnnlab
