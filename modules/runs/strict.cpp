// SPDX-License-Identifier: Apache-2.0
#include "runs/strict.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "runs/devices.h"
#include "train/loop/precision.h"

namespace rnnlab {
namespace {

// `used` says why, as in "fp32 (the CPU has no tf32)".
std::vector<Fallback> fallback_of_precision(const Experiment& experiment, const std::string& used) {
  const std::string asked(config::name_of(experiment.precision));
  if (used == asked) return {};
  return {{.key = "precision",
           .asked = asked,
           .done = used,
           .reason = "",
           .advice = "set precision to one that the device has, such as fp32"}};
}

Fallback fallback_of_graphs(const std::string& reason) {
  return {.key = "training.cuda_graph",
          .asked = "true",
          .done = "single steps without CUDA graphs",
          .reason = reason,
          .advice = "remove training.cuda_graph"};
}

std::string advice_for(const PathFallback& fallback) {
  if (fallback.key == "cudnn_algorithm") return "set cudnn_algorithm to auto or standard";
  return fmt::format("set {} to another kind", fallback.key);
}

std::string line_of(const Fallback& one) {
  const std::string reason = one.reason.empty() ? "" : ": " + one.reason;
  return fmt::format("{}: {} cannot be used, so the run would use {}{}; {}, or strict to false", one.key, one.asked,
                     one.done, reason, one.advice);
}

}  // namespace

std::vector<Fallback> fallbacks_of_settings(const Experiment& experiment, c10::Device device) {
  if (!device.is_cpu()) return {};
  std::vector<Fallback> found;
  const auto driver_fault = experiment.device == "auto" ? driver_fault_here() : std::nullopt;
  if (driver_fault)
    found.push_back({.key = "device",
                     .asked = "a GPU by auto",
                     .done = "the CPU",
                     .reason = *driver_fault,
                     .advice = "set device to cpu"});
  for (Fallback& one : fallback_of_precision(experiment, effective_precision(experiment.precision, device)))
    found.push_back(std::move(one));
  if (experiment.training.cuda_graph) found.push_back(fallback_of_graphs("the device is a CPU"));
  return found;
}

std::vector<Fallback> fallbacks_of_run(const Experiment& experiment, c10::Device device, const UsedByRun& used) {
  std::vector<Fallback> found;
  const auto settings = effective_settings(experiment);
  for (const PathFallback& one : used.path.fallbacks) {
    const std::string asked = value_or_absent(settings, one.key);
    if (asked == "auto") continue;
    found.push_back(
        {.key = one.key, .asked = asked, .done = one.done, .reason = one.reason, .advice = advice_for(one)});
  }
  if (device.is_cpu()) return found;
  for (Fallback& one : fallback_of_precision(experiment, used.precision)) found.push_back(std::move(one));
  if (!used.why_no_graphs.empty()) found.push_back(fallback_of_graphs(used.why_no_graphs));
  return found;
}

std::string strict_message(const std::vector<Fallback>& fallbacks) {
  std::vector<std::string> lines;
  for (const Fallback& one : fallbacks) lines.push_back(line_of(one));
  return join(lines, "\n");
}

void refuse_if_strict(const Experiment& experiment, const std::function<std::vector<Fallback>()>& find) {
  if (!experiment.strict) return;
  const std::vector<Fallback> fallbacks = find();
  if (!fallbacks.empty()) throw_error(ExitCode::kDevice, "{}", strict_message(fallbacks));
}

}  // namespace rnnlab
