// SPDX-License-Identifier: Apache-2.0
#include "results/epoch_cost.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "base/system/warning.h"

namespace rnnlab {
namespace {

bool was_shared(const RunRecord& run, bool is_of_cpu) {
  return std::ranges::any_of(run.summary.warnings, [&](const Warning& one) {
    return is_of_cpu ? one.kind == warning::kCpuBusy || one.kind == warning::kCpuShared
                     : one.kind == warning::kGpuBusy || one.kind == warning::kGpuShared;
  });
}

struct EnergyOfEpochs {
  std::vector<double> joules, watts, joules_per_sample;
};

void add_epochs(EnergyOfEpochs& epochs, const RunRecord& run, bool is_of_cpu) {
  for (const EpochRow& row : run.rows) {
    const auto joules = counted_joules(row, is_of_cpu);
    if (!joules) continue;
    epochs.joules.push_back(*joules);
    epochs.watts.push_back(*joules / row.train_seconds);
    epochs.joules_per_sample.push_back(*joules / num_samples(row));
  }
}

}  // namespace

std::optional<double> counted_joules(const EpochRow& row, bool is_of_cpu) {
  constexpr double kShortestSeconds = 1;
  const std::optional<double>& joules = is_of_cpu ? row.cpu_joules : row.gpu_joules;
  const bool is_counted = joules && *joules > 0 && !row.warmup && row.train_seconds >= kShortestSeconds;
  return is_counted ? joules : std::nullopt;
}

std::optional<EnergyUse> energy_use(const RunGroup& group) {
  const bool is_of_cpu = !is_on_gpu(*group.runs[0]);
  EnergyOfEpochs epochs;
  bool is_shared = false;
  for (const RunRecord* run : group.runs) {
    add_epochs(epochs, *run, is_of_cpu);
    is_shared = is_shared || was_shared(*run, is_of_cpu);
  }
  if (epochs.joules.empty()) return std::nullopt;
  return EnergyUse{.joules = median(epochs.joules),
                   .watts = median(epochs.watts),
                   .joules_per_sample = median(epochs.joules_per_sample),
                   .is_of_cpu = is_of_cpu,
                   .is_shared = is_shared};
}

std::optional<double> share_of_best_rate(const EpochRow& row, const ProductWork& work) {
  if (row.warmup || !std::isfinite(row.samples_per_second)) return std::nullopt;
  return work.flops_per_sample * row.samples_per_second / work.best_flops_per_second;
}

std::optional<double> share_of_best_rate(const RunGroup& group) {
  std::vector<double> shares;
  for (const RunRecord* run : group.runs) {
    const auto& work = run->summary.product_work;
    if (!work || work->best_flops_per_second <= 0) return std::nullopt;
    for (const EpochRow& row : run->rows)
      if (const auto share = share_of_best_rate(row, *work)) shares.push_back(*share);
  }
  return shares.empty() ? std::nullopt : std::optional(median(shares));
}

std::optional<EpochCost> epoch_cost(const RunGroup& group, std::optional<double> epoch_seconds,
                                    std::optional<double> price_per_hour) {
  constexpr double kSecondsPerHour = 3600;
  EpochCost cost = {.energy = energy_use(group), .share_of_best_rate = share_of_best_rate(group), .price = {}};
  if (epoch_seconds && price_per_hour) cost.price = *epoch_seconds * *price_per_hour / kSecondsPerHour;
  if (!cost.energy && !cost.share_of_best_rate && !cost.price) return std::nullopt;
  return cost;
}

}  // namespace rnnlab
