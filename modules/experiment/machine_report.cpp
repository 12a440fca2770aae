#include "experiment/machine_report.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/cuda.h>

#include <algorithm>
#include <map>

#include "base/numbers.h"
#include "base/text.h"
#include "experiment/device.h"
#include "experiment/fastest_layer.h"
#include "experiment/versions.h"
#include "recurrent/layer_kind.h"
#include "results/json_fields.h"
#include "training/precision.h"

namespace rnnlab {
namespace {

std::vector<std::string> refusals_of(LayerKind kind, const std::vector<Gpu>& gpus) {
  const std::vector<RecurrentOptions> unusual = {{.cell = Cell::kLstm, .activation = Activation::kRelu},
                                                 {.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}};
  std::vector<std::string> reasons;
  if (const auto reason = refusal(kind, Processor::kCpu)) reasons.push_back(*reason);
  if (const auto reason = refusal(kind, Processor::kGpu)) reasons.push_back(*reason);
  for (const Gpu& gpu : gpus)
    if (const auto reason = refusal(kind, gpu)) add_once(reasons, *reason);
  if (const auto reason = compiler_refusal(kind); reason && !gpus.empty()) reasons.push_back(*reason);
  for (const RecurrentOptions& options : unusual)
    if (const auto reason = refusal(kind, options)) reasons.push_back(*reason);
  return reasons;
}

std::vector<GpuReport> gpu_reports(const std::vector<Gpu>& gpus) {
  std::vector<GpuReport> reports;
  for (const Gpu& gpu : gpus) reports.push_back({gpu.name, text_of(gpu.capability), gpu.has_own_kernels});
  return reports;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names = {"cpu"};
  const auto count = static_cast<int>(torch::cuda::device_count());
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("cuda:{}", i));
  return names;
}

// What at least one of the devices accepts; tf32 is fp32 on a CPU.
std::vector<std::string> precision_names() {
  const bool has_gpu = torch::cuda::is_available();
  std::vector<std::string> names;
  for (const auto& [precision, name] : config::EnumNames<Precision>::kNames)
    if (has_gpu || !refusal_on_cpu(precision)) names.emplace_back(name);
  return names;
}

std::string gpu_line(const GpuInfo& gpu) {
  return fmt::format("{}, compute capability {}.{}, {} ({} in use), SM clock {} of {} MHz", gpu.name,
                     gpu.compute_capability_major, gpu.compute_capability_minor, format_bytes(gpu.memory_total_bytes),
                     format_bytes(gpu.memory_used_bytes), gpu.sm_clock_mhz, gpu.max_sm_clock_mhz);
}

std::string gpu_lines(const GpuSurvey& survey) {
  if (survey.gpus.empty()) return fmt::format("gpu         none ({})\n", survey.note);
  std::string lines;
  for (const GpuInfo& gpu : survey.gpus) lines += fmt::format("gpu         {}\n", gpu_line(gpu));
  return lines + fmt::format("driver      {}\n", survey.driver_version);
}

std::string kernel_lines(const MachineReport& report) {
  std::string lines = fmt::format("kernels     {}\n", report.own_kernels);
  for (const GpuReport& gpu : report.gpus)
    if (!gpu.has_own_kernels)
      lines += fmt::format("            none for {}: LibTorch's operators take their place\n", gpu.name);
  return lines;
}

std::string software_line(const SoftwareVersions& software) {
  return fmt::format("LibTorch {}, CUDA {}, cuDNN {}", software.libtorch,
                     software.cuda.empty() ? "not loaded" : software.cuda,
                     software.cudnn.empty() ? "not loaded" : software.cudnn);
}

std::string machine_lines(const MachineReport& report) {
  const Environment& e = report.environment;
  return fmt::format("rnnlab      {} ({}, {}, {}{})\n", e.software.rnnlab, build_kind(e.build), e.build.compiler,
                     e.build.git_revision.substr(0, 12), e.build.git_dirty ? " with changes" : "") +
         fmt::format("libraries   {}\n", software_line(e.software)) +
         fmt::format("cpu         {}, {} of {} usable, {}, {} kernels\n", e.cpu.model, e.cpu.usable_cpus,
                     counted(e.cpu.logical_cpus, "logical CPU"), counted(e.num_threads, "thread"), report.cpu_kernels) +
         fmt::format("memory      {}\n", format_bytes(e.host.memory_bytes)) + gpu_lines(e.nvidia) +
         kernel_lines(report) + fmt::format("system      {}, {}\n", e.host.os, e.host.kernel);
}

// Each limit once, under the layers that it holds for.
std::string limit_lines(const std::vector<LayerReport>& layers) {
  std::vector<std::string> limits;
  std::map<std::string, std::vector<std::string>> layers_of;
  for (const LayerReport& layer : layers) {
    for (const std::string& reason : layer.refusals) {
      const std::string limit = without_layer(reason, layer.name);
      add_once(limits, limit);
      layers_of[limit].push_back(layer.name);
    }
  }
  std::string lines = "limits:\n";
  std::vector<std::string> holders;
  for (const std::string& limit : limits) {
    if (layers_of[limit] != holders) lines += fmt::format("  {}\n", join(layers_of[limit], ", "));
    holders = layers_of[limit];
    lines += fmt::format("    - {}\n", fmt::join(wrap(limit, 112), "\n      "));
  }
  return lines;
}

}  // namespace

std::vector<LayerReport> layer_reports(const std::vector<Gpu>& gpus) {
  std::vector<LayerReport> layers;
  for (const LayerKind kind : layer_kinds())
    layers.push_back({std::string(config::name_of(kind)), std::string(description_of(kind)), refusals_of(kind, gpus)});
  return layers;
}

std::vector<Gpu> gpus_of(const GpuSurvey& survey) {
  std::vector<Gpu> gpus;
  for (const GpuInfo& info : survey.gpus) {
    const Capability capability = {static_cast<int>(info.compute_capability_major),
                                   static_cast<int>(info.compute_capability_minor)};
    gpus.push_back({info.name, capability, kernels::runs_on(kernels::own_code(), capability)});
  }
  return gpus;
}

MachineReport make_machine_report(const std::vector<std::string>& command_line) {
  Environment environment = collect_environment(command_line, at::get_num_threads(), libraries());
  const std::vector<Gpu> gpus = gpus_of(environment.nvidia);
  MachineReport report{.environment = std::move(environment),
                       .devices = device_names(),
                       .cpu_kernels = at::get_cpu_capability(),
                       .precisions = precision_names(),
                       .own_kernels = kernels::described(kernels::own_code()),
                       .gpus = gpu_reports(gpus),
                       .layers = layer_reports(gpus),
                       .warnings = {}};
  report.warnings = warnings(report.environment);
  if (const auto fault = driver_fault_here()) report.warnings.emplace_back(warning::kOther, *fault);
  return report;
}

std::string machine_report_text(const MachineReport& report) {
  std::string text = machine_lines(report);
  text += fmt::format("\ndevice:     {}\nprecision:  {}\nlayer:\n", join(report.devices, ", "),
                      join(report.precisions, ", "));
  for (const LayerReport& layer : report.layers) text += fmt::format("  {:<15}  {}\n", layer.name, layer.computes);
  text += limit_lines(report.layers);
  for (const Warning& warning : report.warnings) text += fmt::format("\nwarning: {}\n", warning.text);
  return text;
}

std::string machine_report_json(const MachineReport& report) { return json_text(to_json(report)); }

}  // namespace rnnlab
