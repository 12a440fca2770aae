// SPDX-License-Identifier: Apache-2.0
#include "runs/support.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "layers/device/gpu_support.h"
#include "runs/devices.h"
#include "runs/memory_estimate.h"
#include "runs/run_context.h"
#include "runs/strict.h"

namespace rnnlab {
namespace {

template <class Check>
std::optional<std::string> error_of(const Check& check) {
  try {
    check();
  } catch (const UserError& error) {
    return error.what();
  }
  return std::nullopt;
}

// Does not find a run whose need is known only from its files.
void require_memory(const Experiment& experiment, c10::Device device) {
  check_memory(estimate_memory(experiment, Purpose::kTraining), memory_advice(experiment, Purpose::kTraining), device,
               memory_limits(), {});
}

std::optional<std::string> unsupported_work(const Experiment& experiment, c10::Device device, AskGpu ask) {
  if (ask == AskGpu::kYes || device.is_cpu()) return error_of([&] { require_runs_on(experiment, device); });
  LayerWork work = layer_work(experiment);
  work.processor = processor_of(device);
  return error_of([&] { require_supported(computed_layer(experiment), work); });
}

}  // namespace

std::optional<std::string> missing_devices(const Experiment& experiment) {
  return error_of([&] { require_devices(experiment); });
}

std::optional<std::string> unsupported_here(const Experiment& experiment, AskGpu ask) {
  if (auto reason = missing_devices(experiment)) return reason;
  const c10::Device device = resolve_device(experiment.device);
  if (const auto reason = unsupported_work(experiment, device, ask))
    return *reason + (experiment.device == "auto" && device.is_cpu() ? "; device: auto chose the CPU" : "");
  const auto find_fallbacks = [&] { return fallbacks_of_settings(experiment, device); };
  if (auto reason = error_of([&] { refuse_if_strict(experiment, find_fallbacks); })) return reason;
  return error_of([&] { require_memory(experiment, device); });
}

std::vector<std::string> unsupported_runs(const std::vector<Experiment>& experiments, AskGpu ask) {
  std::map<std::string, size_t> counts;
  for (const Experiment& one : experiments)
    if (const auto reason = unsupported_here(one, ask)) ++counts[*reason];
  std::vector<std::string> sentences;
  if (experiments.size() == 1 && !counts.empty())
    return {fmt::format("cannot run on this machine: {}", counts.begin()->first)};
  for (const auto& [reason, count] : counts)
    sentences.push_back(
        fmt::format("{} of {} cases cannot run on this machine: {}", count, experiments.size(), reason));
  return sentences;
}

}  // namespace rnnlab
