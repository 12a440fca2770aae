#include "training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rnnlab {
namespace {

double cosine(const Schedule& schedule, double progress) {
  const double fall = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(progress, 1.0)));
  return schedule.minimum + (schedule.learning_rate - schedule.minimum) * fall;
}

double decayed(const Schedule& schedule, int64_t step) {
  const double progress = static_cast<double>(step) / static_cast<double>(schedule.decay_steps);
  const double base = schedule.learning_rate;
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      return base;
    case ScheduleKind::kStep:
      return base * std::pow(schedule.decay_rate, std::floor(progress));
    case ScheduleKind::kCosine:
      return cosine(schedule, progress);
    case ScheduleKind::kInverseTime:
      return base / (1.0 + schedule.decay_rate * progress);
    case ScheduleKind::kExponential:
      return base * std::pow(schedule.decay_rate, progress);
  }
  return base;
}

int64_t default_decay_steps(const TrainingSettings& settings, int64_t total_steps) {
  if (settings.schedule != ScheduleKind::kCosine) return 1;
  return std::max<int64_t>(total_steps - settings.warmup_steps, 1);
}

}  // namespace

Schedule make_schedule(const TrainingSettings& settings, int64_t total_steps) {
  return {.kind = settings.schedule,
          .learning_rate = settings.learning_rate,
          .minimum = settings.minimum_learning_rate,
          .decay_rate = settings.decay_rate.value_or(1.0),
          .decay_steps = settings.decay_steps.value_or(default_decay_steps(settings, total_steps)),
          .warmup_steps = settings.warmup_steps};
}

double learning_rate_at(const Schedule& schedule, int64_t step) {
  if (step < schedule.warmup_steps) {
    return schedule.learning_rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  const double rate = std::max(decayed(schedule, step - schedule.warmup_steps), schedule.minimum);
  return std::min(rate, config::kMostFloat);  // a GPU stores it as float32
}

}  // namespace rnnlab
