// What the file says under `distributed:`: how long the processes of one run wait for each other. None of it changes
// what is trained.
#pragma once

#include "config/schema.h"

namespace rnnlab {

struct DistributedSettings {
  double timeout = 30;
  double start_timeout = 120;

  static const config::Schema<DistributedSettings>& schema();
};

}  // namespace rnnlab
