// SPDX-License-Identifier: Apache-2.0
#include "train/loop/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/config/schema.h"
#include "base/error.h"

namespace rnnlab {
namespace {

double constant(const Schedule& schedule, double /*progress*/) { return schedule.learning_rate; }

double by_steps(const Schedule& schedule, double progress) {
  return schedule.learning_rate * std::pow(schedule.decay_rate, std::floor(progress));
}

double cosine(const Schedule& schedule, double progress) {
  const double fall = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(progress, 1.0)));
  return schedule.minimum + (schedule.learning_rate - schedule.minimum) * fall;
}

double inverse_time(const Schedule& schedule, double progress) {
  return schedule.learning_rate / (1.0 + schedule.decay_rate * progress);
}

double exponential(const Schedule& schedule, double progress) {
  return schedule.learning_rate * std::pow(schedule.decay_rate, progress);
}

using Use = ScheduleInfo::Use;

constexpr std::array kSchedules = {
    ScheduleInfo{ScheduleKind::kConstant, constant},
    ScheduleInfo{ScheduleKind::kStep, by_steps, Use::kNeeded, Use::kNeeded},
    ScheduleInfo{ScheduleKind::kCosine, cosine, Use::kNone, Use::kOptional, /*decay_patience=*/Use::kNone,
                 /*lasts_to_the_end=*/true},
    ScheduleInfo{ScheduleKind::kInverseTime, inverse_time, Use::kNeeded, Use::kOptional},
    ScheduleInfo{ScheduleKind::kExponential, exponential, Use::kNeeded, Use::kNeeded},
    ScheduleInfo{ScheduleKind::kPlateau, by_steps, Use::kNeeded, Use::kNone, /*decay_patience=*/Use::kOptional},
};

double decayed(const Schedule& schedule, int64_t step, int64_t num_plateaus) {
  const ScheduleInfo& info = info_of(schedule.kind);
  if (info.counts_plateaus()) return info.rate(schedule, static_cast<double>(num_plateaus));
  return info.rate(schedule, static_cast<double>(step) / static_cast<double>(schedule.decay_steps));
}

}  // namespace

const ScheduleInfo& info_of(ScheduleKind kind) {
  const auto found = std::ranges::find(kSchedules, kind, &ScheduleInfo::kind);
  RNNLAB_INVARIANT(found != kSchedules.end(), "a schedule must be in the list of schedules");
  return *found;
}

double learning_rate_at(const Schedule& schedule, int64_t step, int64_t num_plateaus) {
  if (step < schedule.warmup_steps) {
    return schedule.learning_rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  const double rate = std::max(decayed(schedule, step - schedule.warmup_steps, num_plateaus), schedule.minimum);
  return std::min(rate, config::kMostFloat);  // a GPU stores it as float32
}

}  // namespace rnnlab
