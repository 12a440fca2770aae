// SPDX-License-Identifier: Apache-2.0
#include "results/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/statistics.h"

namespace rnnlab {
namespace {

using Found = std::vector<Warning>;

// The columns of those rows that are not warm-up. A column is absent unless each row has its value.
struct TimeColumns {
  std::string_view spans = "epochs";  // what messages call the rows
  std::vector<int64_t> epochs;
  std::vector<double> wall, data, exchange;
  std::optional<std::vector<double>> cpu, boot, steal, throttled;
};

// Returns nothing unless each row has the value.
std::optional<std::vector<double>> column_of(const std::vector<const EpochRow*>& rows,
                                             std::optional<double> EpochRow::*member) {
  std::vector<double> values;
  for (const EpochRow* row : rows)
    if (const auto value = row->*member; value && std::isfinite(*value)) values.push_back(*value);
  if (values.empty() || values.size() < rows.size()) return std::nullopt;
  return values;
}

TimeColumns columns_of_rows(std::span<const EpochRow> rows) {
  std::vector<const EpochRow*> counted;
  TimeColumns columns;
  for (const EpochRow& row : rows) {
    if (row.warmup || !std::isfinite(row.train_seconds)) continue;
    counted.push_back(&row);
    columns.epochs.push_back(row.epoch);
    columns.wall.push_back(row.train_seconds);
    columns.data.push_back(row.data_seconds);
    columns.exchange.push_back(row.exchange_seconds.value_or(0));
  }
  columns.cpu = column_of(counted, &EpochRow::cpu_seconds);
  columns.boot = column_of(counted, &EpochRow::boot_seconds);
  columns.steal = column_of(counted, &EpochRow::steal_seconds);
  columns.throttled = column_of(counted, &EpochRow::throttled_seconds);
  return columns;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// The two clocks are read one after the other, with a system call in between.
void check_clock(const TimeColumns& run, Found& found) {
  constexpr double kOverhead = 2e-4, kPart = 0.01;
  if (!run.boot) return;
  const double wall = median(run.wall), boot = median(*run.boot);
  if (std::abs(wall - boot) > kOverhead + kPart * boot)
    found.emplace_back(warning::kOtherClock,
                       fmt::format("another clock: {} of {:.4g} s (median) took {:.4g} s by the kernel's clock, so the "
                                   "clock that timed them was changed",
                                   run.spans, wall, boot));
}

// Counters with a hundred ticks a second are not precise for a few ticks.
constexpr double kLeastHeld = 0.05, kTick = 0.01;

void check_throttling(const TimeColumns& run, Found& found) {
  if (!run.throttled) return;
  const double wall = sum_of(run.wall), held = sum_of(*run.throttled);
  if (held > kLeastHeld * wall + kTick)
    found.emplace_back(
        warning::kThrottled,
        fmt::format("throttled: a quota of its control group stopped its CPUs for {:.3g} s in total, in {} of {:.3g} s",
                    held, run.spans, wall));
}

void check_stealing(const TimeColumns& run, int64_t num_threads, Found& found) {
  if (!run.steal) return;
  const double wall = sum_of(run.wall), stolen = sum_of(*run.steal);
  const double needed = wall * static_cast<double>(std::max<int64_t>(num_threads, 1));
  if (stolen > kLeastHeld * needed + kTick)
    found.emplace_back(warning::kStolen,
                       fmt::format("stolen: the hypervisor kept {:.3g} s of its CPUs' time in total, in {} of "
                                   "{:.3g} s",
                                   stolen, run.spans, wall));
}

// In a run on the CPU, some thread always computes: in the layer, or for the batches for which the layer waits. Only in
// the exchange a process waits for other processes.
void check_computing(const TimeColumns& run, Found& found) {
  constexpr double kLeast = 0.9;
  if (!run.cpu) return;
  const double wall = sum_of(run.wall), cpu = sum_of(*run.cpu);
  if (cpu < kLeast * (wall - sum_of(run.data) - sum_of(run.exchange)))
    found.emplace_back(warning::kWaited,
                       fmt::format("it waited: in {} of {:.3g} s it computed for {:.3g} s only, so something kept it "
                                   "from its CPUs",
                                   run.spans, wall, cpu));
}

// Such an epoch took longer than the median epoch without more CPU time. An epoch with more CPU time, for example of a
// thread that writes checkpoints, did not wait.
void check_evenness(const TimeColumns& run, Found& found) {
  constexpr double kLonger = 1.25, kNoMoreWork = 1.1, kShortest = 0.02;
  if (!run.cpu) return;
  const double usual_wall = median(run.wall), usual_cpu = median(*run.cpu);
  int64_t count = 0;
  std::optional<size_t> longest;
  for (size_t i = 0; i < run.wall.size(); ++i) {
    const bool has_waited = run.wall[i] > kLonger * usual_wall && (*run.cpu)[i] < kNoMoreWork * usual_cpu;
    if (!has_waited || run.wall[i] - usual_wall < kShortest) continue;
    ++count;
    if (!longest || run.wall[i] > run.wall[*longest]) longest = i;
  }
  if (!longest) return;
  found.emplace_back(warning::kWaited,
                     fmt::format("it waited: epoch {} took {:.4g} s and computed for {:.4g} s, the median epoch {:.4g} "
                                 "and {:.4g} s ({} of {} such epochs)",
                                 run.epochs[*longest], run.wall[*longest], (*run.cpu)[*longest], usual_wall, usual_cpu,
                                 count, run.wall.size()));
}

bool is_on_gpu(const std::string& device) { return device.starts_with("cuda"); }

// Returns the seconds of computing for each second of an epoch.
std::optional<double> computing_share(const std::vector<const RunRecord*>& runs) {
  double wall = 0, cpu = 0;
  for (const RunRecord* run : runs) {
    const TimeColumns columns = columns_of_rows(run->rows);
    if (!columns.cpu) return std::nullopt;
    wall += sum_of(columns.wall);
    cpu += sum_of(*columns.cpu);
  }
  return wall > 0 ? std::optional(cpu / wall) : std::nullopt;
}

std::optional<double> computing_share_on_gpu(const RunGroup& group) {
  const bool are_on_gpu = std::ranges::all_of(group.runs, [](const RunRecord* run) { return is_on_gpu(*run); });
  return are_on_gpu ? computing_share(group.runs) : std::nullopt;
}

}  // namespace

std::vector<Warning> waiting_warnings(std::span<const EpochRow> rows, const std::string& device, int64_t num_threads,
                                      std::string_view spans) {
  TimeColumns run = columns_of_rows(rows);
  run.spans = spans;
  Found found;
  check_clock(run, found);
  check_throttling(run, found);
  check_stealing(run, num_threads, found);
  if (!is_on_gpu(device)) check_computing(run, found);
  check_evenness(run, found);
  return found;
}

std::vector<GroupFinding> waiting_within(const RunGroup& group) {
  constexpr double kClearlyLess = 0.75;
  constexpr size_t kFewest = 3;
  std::vector<std::pair<const RunRecord*, double>> shares;
  std::vector<double> all;
  for (const RunRecord* run : group.runs)
    if (const auto share = computing_share({run})) {
      shares.emplace_back(run, *share);
      all.push_back(*share);
    }
  if (all.size() < kFewest) return {};
  const double usual = median(all);
  std::vector<GroupFinding> found;
  for (const auto& [run, share] : shares)
    if (share < kClearlyLess * usual)
      found.push_back({"", fmt::format("{} ({})", group.label, folder_name(*run, group)),
                       fmt::format(": it waited: its process computed {:.2f} s for each second of its epochs, the "
                                   "median of these runs is {:.2f} s",
                                   share, usual),
                       warning::kWaited});
  return found;
}

// The host of a GPU computes while it waits, because it polls.
std::vector<GroupFinding> waiting_between(const RunGroup& baseline, const RunGroup& group) {
  constexpr double kClearlyLess = 0.5;
  const auto first = computing_share_on_gpu(baseline), second = computing_share_on_gpu(group);
  // The host of another program may wait in a different way.
  if (!first || !second || involve_other_program(baseline, group)) return {};
  const bool is_first = *first < *second;
  const auto [less, more] = std::minmax(*first, *second);
  if (less >= kClearlyLess * more) return {};
  const RunGroup& waiter = is_first ? baseline : group;
  const RunGroup& other = is_first ? group : baseline;
  return {{"", waiter.label,
           fmt::format(": it waited: its process computed {:.2f} s for each second of its epochs, that of {} {:.2f} s",
                       less, other.label, more),
           warning::kWaited}};
}

namespace {

using Quotient = std::function<std::optional<double>(const EpochRow&)>;

std::optional<double> quotient_of(const std::optional<double>& numerator, const std::optional<double>& denominator) {
  if (!numerator || !denominator || *denominator <= 0) return std::nullopt;
  const double quotient = *numerator / *denominator;
  return std::isfinite(quotient) ? std::optional(quotient) : std::nullopt;
}

std::optional<double> median_quotient(std::span<const EpochRow> rows, const Quotient& quotient) {
  std::vector<double> quotients;
  for (const EpochRow& row : rows)
    if (const auto one = quotient(row); one && !row.warmup) quotients.push_back(*one);
  return quotients.empty() ? std::nullopt : std::optional(median(quotients));
}

}  // namespace

std::optional<double> slowest_over_fastest(std::span<const EpochRow> rows) {
  return median_quotient(
      rows, [](const EpochRow& row) { return quotient_of(row.slowest_process_seconds, row.fastest_process_seconds); });
}

std::optional<double> exchange_share(std::span<const EpochRow> rows) {
  return median_quotient(rows,
                         [](const EpochRow& row) { return quotient_of(row.exchange_seconds, row.train_seconds); });
}

std::vector<Warning> straggler_warnings(std::span<const EpochRow> rows) {
  constexpr double kMost = 1.05, kPercent = 100;
  const auto quotient = slowest_over_fastest(rows);
  if (!quotient || *quotient <= kMost) return {};
  return {{warning::kStraggler,
           fmt::format("straggler: the slowest process of an epoch computes {:.0f} % longer than the fastest (median), "
                       "and the others wait for it; check what else its CPUs or its GPU do",
                       kPercent * (*quotient - 1))}};
}

}  // namespace rnnlab
