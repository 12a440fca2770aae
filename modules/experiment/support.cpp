// SPDX-License-Identifier: Apache-2.0
#include "experiment/support.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "experiment/devices.h"
#include "experiment/memory_estimate.h"
#include "training/precision.h"

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

std::optional<std::string> unsupported_layer(const Experiment& experiment, c10::Device device, AskGpu ask) {
  const LayerKind layer = computed_layer(experiment);
  return ask == AskGpu::kYes ? unsupported_reason(layer, device) : unsupported_reason(layer, processor_of(device));
}

}  // namespace

std::optional<std::string> unsupported_here(const Experiment& experiment, AskGpu ask) {
  if (auto reason = error_of([&] { require_devices(experiment); })) return reason;
  const c10::Device device = resolve_device(experiment.device);
  auto reason = unsupported_layer(experiment, device, ask);
  if (!reason && device.is_cpu()) reason = unsupported_on_cpu(experiment.precision);
  if (reason) return *reason + (experiment.device == "auto" && device.is_cpu() ? "; device: auto chose the CPU" : "");
  if (ask == AskGpu::kNo && device.is_cuda()) return std::nullopt;
  return error_of([&] { require_memory(experiment, device); });
}

std::vector<std::string> unsupported_runs(const std::vector<Experiment>& experiments, AskGpu ask) {
  std::map<std::string, size_t> counts;
  for (const Experiment& one : experiments)
    if (const auto reason = unsupported_here(one, ask)) ++counts[*reason];
  std::vector<std::string> sentences;
  for (const auto& [reason, count] : counts)
    sentences.push_back(fmt::format("{} of {} cases cannot run on this machine: {}", count, experiments.size(), reason));
  return sentences;
}

}  // namespace rnnlab
