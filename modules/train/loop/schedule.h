// SPDX-License-Identifier: Apache-2.0
// The schedules of the learning rate, which is a pure function of the step and, for `plateau`, of how often the run has
// ceased to improve: both are in the state of a run, so a resumed one goes on. Steps count optimiser updates from 0. A
// linear warm-up comes first; the schedule counts its steps from the end of the warm-up. A new schedule is a record in
// schedule.cpp, and a line in schedule_list.inc.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/config/enum_names.h"

namespace rnnlab {

enum class ScheduleKind {
#define RNNLAB_SCHEDULE(enumerator, name) enumerator,
#include "train/loop/schedule_list.inc"
};

template <>
struct config::EnumNames<ScheduleKind> {
#define RNNLAB_SCHEDULE(enumerator, name) std::pair<ScheduleKind, std::string_view>(ScheduleKind::enumerator, #name),
  static constexpr std::array kNames = {
#include "train/loop/schedule_list.inc"
  };
};

struct Schedule;

struct ScheduleInfo {
  enum class Use { kNone, kOptional, kNeeded };

  // A key of `training:` that the schedule may read, and what the key means for it, for the key's help.
  struct Key {
    Use use = Use::kNone;
    std::string_view help = "";
  };

  // Returns the rate after so many decay_steps since the end of the warm-up, or after so many plateaus, before
  // `minimum` is applied.
  double (*rate)(const Schedule& schedule, double progress);
  Key decay_rate = {};
  Key decay_steps = {};
  Key decay_patience = {};        // of schedules that count plateaus instead of steps
  bool lasts_to_the_end = false;  // decay_steps are by default the steps of the whole run, else 1

  bool counts_plateaus() const { return decay_patience.use != Use::kNone; }
};

// Throws InvariantError for a value that the list does not have.
const ScheduleInfo& info_of(ScheduleKind kind);

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double learning_rate = 1e-3;
  double minimum = 0.0;
  double decay_rate = 1.0;
  int64_t decay_steps = 1;
  int64_t decay_patience = 1;  // epochs
  int64_t warmup_steps = 0;
};

// With t = step - warmup_steps, r = decay_rate, n = decay_steps:
//   constant      lr
//   step          lr * r^floor(t / n)
//   cosine        min + (lr - min) * (1 + cos(pi * t / n)) / 2, and min from t = n on (Loshchilov and Hutter 2016)
//   inverse_time  lr / (1 + r * t / n), Keras's `decay` with n = 1
//   exponential   lr * r^(t / n)
//   plateau       lr * r^(number of plateaus), each of decay_patience epochs without a better one (stopping.h)
// The result is never below `minimum`. During warm-up the result is lr * (step + 1) / warmup_steps, without this
// minimum.
double learning_rate_at(const Schedule& schedule, int64_t step, int64_t num_plateaus = 0);

}  // namespace rnnlab
