#include "results/device_speed.h"

#include <fmt/format.h>

#include "base/numbers.h"
#include "results/devices.h"
#include "results/group_time.h"

namespace rnnlab {
namespace {

const RunRecord& first_run(const RunGroup& group) { return *group.runs[0]; }

// Null where no group has fewer.
const RunGroup* same_work_on_fewest(const RunGroup& group, const std::vector<RunGroup>& groups) {
  const RunGroup* found = nullptr;
  int64_t fewest = num_devices(first_run(group));
  for (const RunGroup& other : groups) {
    const int64_t devices = num_devices(first_run(other));
    if (devices >= fewest || !differ_in_devices_alone(first_run(group), first_run(other))) continue;
    fewest = devices;
    found = &other;
  }
  return found;
}

std::optional<double> inverse(const std::optional<double>& value) {
  return value ? std::optional(1 / *value) : std::nullopt;
}

std::optional<double> part(const std::optional<double>& speed_up, double devices) {
  return speed_up ? std::optional(*speed_up / devices) : std::nullopt;
}

bool has_efficiency(const RunRecord& run, const RunRecord& reference) {
  return kind_of_device(run) != "cpu" || have_equal_threads(run, reference);
}

}  // namespace

std::optional<DeviceSpeed> device_speed(const RunGroup& group, const std::vector<RunGroup>& groups) {
  const RunGroup* reference = same_work_on_fewest(group, groups);
  if (reference == nullptr) return std::nullopt;
  GroupResult times;
  set_against(times, group, *reference);
  if (!times.ratio) return std::nullopt;
  const RunRecord &run = first_run(group), &other = first_run(*reference);
  DeviceSpeed speed;
  speed.reference = reference->label;
  speed.reference_devices = num_devices(other);
  speed.speed_up = 1 / *times.ratio;
  speed.speed_up_low = inverse(times.ratio_high);
  speed.speed_up_high = inverse(times.ratio_low);
  if (!has_efficiency(run, other)) return speed;
  const double devices = static_cast<double>(num_devices(run)) / static_cast<double>(num_devices(other));
  speed.efficiency = speed.speed_up / devices;
  speed.efficiency_low = part(speed.speed_up_low, devices);
  speed.efficiency_high = part(speed.speed_up_high, devices);
  return speed;
}

std::string efficiency_note(const RunGroup& group, const std::vector<RunGroup>& groups) {
  const RunGroup* reference = same_work_on_fewest(group, groups);
  if (reference == nullptr || has_efficiency(first_run(group), first_run(*reference))) return "";
  return fmt::format(
      "no efficiency of {}: its processes have {} each, that of {} has {}; training.num_threads gives all as many",
      group.label, counted(first_run(group).summary.identity.num_threads, "thread"), reference->label,
      first_run(*reference).summary.identity.num_threads);
}

}  // namespace rnnlab
