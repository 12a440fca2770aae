// What an experiment asks of this process and its device, whether it trains or uses what was trained.
#pragma once

#include <c10/core/Device.h>

#include "experiment/experiment.h"
#include "training/trainer_options.h"

namespace rnnlab {

// UserError kUsage where the layer or the precision is not for the device.
void require_runs_on(const Experiment& experiment, c10::Device device);

// Sets threads, determinism and precision of the whole process: the last one's word counts.
void set_up_process(const Experiment& experiment);

TrainerOptions trainer_options(const Experiment& experiment, c10::Device device);

}  // namespace rnnlab
