// SPDX-License-Identifier: Apache-2.0
#include "train/loop/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/config/schema.h"
#include "base/error.h"

namespace rnnlab {
namespace {

using Use = ScheduleInfo::Use;

double constant_rate(const Schedule& schedule, double /*progress*/) { return schedule.learning_rate; }

constinit const ScheduleInfo constant_schedule = {.rate = constant_rate};

double rate_by_steps(const Schedule& schedule, double progress) {
  return schedule.learning_rate * std::pow(schedule.decay_rate, std::floor(progress));
}

constinit const ScheduleInfo step_schedule = {
    .rate = rate_by_steps, .decay_rate = {Use::kNeeded, "factor per decay_steps"}, .decay_steps = {Use::kNeeded}};

double cosine_rate(const Schedule& schedule, double progress) {
  const double fall = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(progress, 1.0)));
  return schedule.minimum + (schedule.learning_rate - schedule.minimum) * fall;
}

constinit const ScheduleInfo cosine_schedule = {.rate = cosine_rate,
                                                .decay_steps = {Use::kOptional, "steps to the minimum, by default all"},
                                                .lasts_to_the_end = true};

double inverse_time_rate(const Schedule& schedule, double progress) {
  return schedule.learning_rate / (1.0 + schedule.decay_rate * progress);
}

constinit const ScheduleInfo inverse_time_schedule = {
    .rate = inverse_time_rate,
    .decay_rate = {Use::kNeeded, "lr / (1 + decay_rate * t / decay_steps)"},
    .decay_steps = {Use::kOptional, "by default 1"}};

double exponential_rate(const Schedule& schedule, double progress) {
  return schedule.learning_rate * std::pow(schedule.decay_rate, progress);
}

constinit const ScheduleInfo exponential_schedule = {
    .rate = exponential_rate, .decay_rate = {Use::kNeeded, "factor per decay_steps"}, .decay_steps = {Use::kNeeded}};

constinit const ScheduleInfo plateau_schedule = {
    .rate = rate_by_steps,
    .decay_rate = {Use::kNeeded, "factor per plateau"},
    .decay_patience = {Use::kOptional,
                       "epochs without a better one after which the learning rate is lowered; by default 2. What is "
                       "better says early_stopping's metric, or the validation (else training) loss"}};

double decayed(const Schedule& schedule, int64_t step, int64_t num_plateaus) {
  const ScheduleInfo& info = info_of(schedule.kind);
  if (info.counts_plateaus()) return info.rate(schedule, static_cast<double>(num_plateaus));
  return info.rate(schedule, static_cast<double>(step) / static_cast<double>(schedule.decay_steps));
}

}  // namespace

const ScheduleInfo& info_of(ScheduleKind kind) {
  switch (kind) {
#define RNNLAB_SCHEDULE(enumerator, name) \
  case ScheduleKind::enumerator:          \
    return name##_schedule;
#include "train/loop/schedule_list.inc"
  }
  fail_invariant("a listed schedule", __FILE__, __LINE__, "info_of does not know the schedule");
}

double learning_rate_at(const Schedule& schedule, int64_t step, int64_t num_plateaus) {
  if (step < schedule.warmup_steps) {
    return schedule.learning_rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  const double rate = std::max(decayed(schedule, step - schedule.warmup_steps, num_plateaus), schedule.minimum);
  return std::min(rate, config::kMostFloat);  // a GPU stores it as float32
}

}  // namespace rnnlab
