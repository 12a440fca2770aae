#include "results/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "base/numbers.h"
#include "results/comparison.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

// Older run folders record the number of devices only in config.yaml.
int64_t devices_in_config(const RunRecord& run) {
  return std::max<int64_t>(parse_int64(value_or_absent(run.config, "devices")).value_or(1), 1);
}

// The choice of devices does not matter, and the summary records the layer and the device that "auto" selected.
bool is_told_elsewhere(const std::string& key) {
  constexpr std::array<std::string_view, 6> kElsewhere = {"name",    "seed",       "device",
                                                          "devices", "auto_layer", "training.num_threads"};
  return key.starts_with("distributed.") || std::ranges::find(kElsewhere, key) != kElsewhere.end();
}

bool has_equal_settings(const RunRecord& a, const RunRecord& b) {
  for (const auto* config : {&a.config, &b.config})
    for (const auto& [key, value] : *config)
      if (!is_told_elsewhere(key) && value_or_absent(a.config, key) != value_or_absent(b.config, key)) return false;
  return true;
}

bool ran_alike(const RunRecord& a, const RunRecord& b) {
  const Identity &first = a.summary.identity, &second = b.summary.identity;
  const std::string engine = exchange_engine(a), other_engine = exchange_engine(b);
  return kind_of_device(a) == kind_of_device(b) && graphs_text(a) == graphs_text(b) &&
         a.summary.layer == b.summary.layer && first.precision == second.precision &&
         first.batch_size == second.batch_size && (engine.empty() || other_engine.empty() || engine == other_engine);
}

bool is_told_of(const RunRecord& run) { return other_program(run).empty() && !has_changed_devices(run); }

}  // namespace

int64_t num_devices(const RunRecord& run) {
  return run.environment.ranks ? run.environment.ranks->num_processes : devices_in_config(run);
}

double samples_a_device(const RunRecord& run) {
  return static_cast<double>(run.summary.identity.batch_size) / static_cast<double>(num_devices(run));
}

std::string exchange_engine(const RunRecord& run) {
  return run.environment.ranks ? run.environment.ranks->exchange : "";
}

bool has_changed_devices(const RunRecord& run) {
  return std::ranges::any_of(run.summary.warnings,
                             [](const Warning& warning) { return warning.kind == warning::kDevicesChanged; });
}

std::string graphs_text(const RunRecord& run) {
  const bool are_asked_for = value_or_absent(run.config, "training.cuda_graph") == "true";
  return run.summary.has_graphs.value_or(are_asked_for) ? "used" : "not used";
}

std::string kind_of_device(const RunRecord& run) { return run.summary.device.substr(0, run.summary.device.find(':')); }

bool have_equal_threads(const RunRecord& a, const RunRecord& b) {
  return a.summary.identity.num_threads == b.summary.identity.num_threads;
}

bool share_equal_threads(const RunRecord& a, const RunRecord& b) {
  const int64_t first = num_devices(a), second = num_devices(b);
  const int64_t difference = a.summary.identity.num_threads * first - b.summary.identity.num_threads * second;
  return first != second && std::abs(difference) < std::max(first, second);
}

bool differ_in_devices_alone(const RunRecord& a, const RunRecord& b) {
  return num_devices(a) != num_devices(b) && is_told_of(a) && is_told_of(b) && ran_alike(a, b) &&
         has_equal_settings(a, b);
}

namespace {

const RunRecord& first_run(const RunGroup& group) { return *group.runs[0]; }

// Returns null if no group with the same work has fewer devices.
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
      "no efficiency of {}: its processes have {} each, that of {} has {}; set training.num_threads to give all "
      "processes the same number",
      group.label, counted(first_run(group).summary.identity.num_threads, "thread"), reference->label,
      first_run(*reference).summary.identity.num_threads);
}

}  // namespace rnnlab
