// SPDX-License-Identifier: Apache-2.0
// Says what a training epoch costs: energy by the device's own counter, mean power, the share of the device's best rate
// that its products reached, and money at a price per hour. All values are medians, without intervals: counters of
// energy are coarse, and epochs of less than a second are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "results/epoch_row.h"
#include "results/run_record.h"
#include "results/summary.h"

namespace rnnlab {

struct EnergyUse {
  double joules = 0;  // of an epoch
  double watts = 0;   // joules over seconds of the same epoch
  double joules_per_sample = 0;
  bool is_of_cpu = false;  // of all programs on the machine's processors; else of the GPUs of the run
  bool is_shared = false;  // a different program used the device, so the energy includes its work

  RNNLAB_FIELDS(joules, watts, joules_per_sample, is_of_cpu, is_shared)
};

struct EpochCost {
  std::optional<EnergyUse> energy = std::nullopt;
  std::optional<double> share_of_best_rate = std::nullopt;  // 1 is all of it
  std::optional<double> price = std::nullopt;               // of an epoch, in the currency of the price per hour

  RNNLAB_FIELDS(energy, share_of_best_rate, price)
};

// Returns the joules of the epoch on the device of the run; nothing if they were not measured, if the epoch was a
// warm-up, or if it took less than a second.
std::optional<double> counted_joules(const EpochRow& row, bool is_of_cpu);

// Returns nothing if no epoch of the runs has such joules.
std::optional<EnergyUse> energy_use(const RunGroup& group);

// Returns the share of the best rate that an epoch reached; nothing for a warm-up.
std::optional<double> share_of_best_rate(const EpochRow& row, const ProductWork& work);

// Returns nothing unless every run of the group recorded its product_work.
std::optional<double> share_of_best_rate(const RunGroup& group);

// `epoch_seconds` is the time of an epoch of the group, `price_per_hour` the price of the whole machine. Returns
// nothing if no part of the cost is known.
std::optional<EpochCost> epoch_cost(const RunGroup& group, std::optional<double> epoch_seconds,
                                    std::optional<double> price_per_hour);

}  // namespace rnnlab
