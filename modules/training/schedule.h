// The learning rate is a pure function of the step, so a resumed run needs only its step number. Steps count optimiser
// updates from 0. A linear warm-up comes first; the schedule counts its steps from the end of the warm-up.
#pragma once

#include <cstdint>

#include "training/training_settings.h"

namespace rnnlab {

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double learning_rate = 1e-3;
  double minimum = 0.0;
  double decay_rate = 1.0;
  int64_t decay_steps = 1;
  int64_t warmup_steps = 0;
};

// Returns the schedule of `settings`. If the file gives no decay_steps, cosine reaches its minimum at the run's last
// step and inverse_time decays with n = 1. `total_steps` is the number of updates in the whole run, 0 if only time
// bounds it.
Schedule make_schedule(const TrainingSettings& settings, int64_t total_steps);

// With t = step - warmup_steps, r = decay_rate, n = decay_steps:
//   constant      lr
//   step          lr * r^floor(t / n)
//   cosine        min + (lr - min) * (1 + cos(pi * t / n)) / 2, and min from t = n on (Loshchilov and Hutter 2016)
//   inverse_time  lr / (1 + r * t / n), Keras's `decay` with n = 1
//   exponential   lr * r^(t / n)
// The result is never below `minimum`. During warm-up the result is lr * (step + 1) / warmup_steps, without this
// minimum.
double learning_rate_at(const Schedule& schedule, int64_t step);

}  // namespace rnnlab
