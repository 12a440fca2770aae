#include "results/devices.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "base/numbers.h"
#include "results/config_values.h"

namespace rnnlab {
namespace {

// Of a run folder from before environment.json told it.
int64_t devices_in_config(const RunRecord& run) {
  return std::max<int64_t>(parse_int64(value_or_absent(run.config, "devices")).value_or(1), 1);
}

// Which of the machine's devices does not matter, and layer and device "auto" are told by the summary.
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

}  // namespace rnnlab
