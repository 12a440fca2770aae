// SPDX-License-Identifier: Apache-2.0
#include "runs/machine_report.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/native/verbose_wrapper.h>
#include <ATen/ops/ones.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <torch/cuda.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>

#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "layers/layer_kind.h"
#include "runs/devices.h"
#include "runs/fastest_layer.h"
#include "train/loop/precision.h"

namespace rnnlab {
namespace {

// This is the structure of MKL's mkl_get_version (oneMKL reference, "Service functions"), which LibTorch exports under
// its internal name. `processor` describes the instructions that MKL uses, not those that the CPU has.
struct MklVersion {
  int major, minor, update;
  const char *status, *build, *processor, *platform;
};

std::string mkl_instruction_set() {
  const auto detect = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "mkl_serv_cpu_detect"));
  const auto ask = reinterpret_cast<void (*)(MklVersion*)>(::dlsym(RTLD_DEFAULT, "mkl_serv_get_version"));
  if (!at::hasMKL() || detect == nullptr || ask == nullptr) return "";
  detect();
  MklVersion version{};
  ask(&version);
  return version.processor == nullptr ? "" : std::string(trim(version.processor));
}

// Runs one operation of oneDNN; in verbose mode oneDNN prints its description before the operation.
void talk() {
  at::set_num_threads(1);  // this process has no threads of its parent
  torch::verbose::_mkldnn_set_verbose(1);
  at::ones({2, 2}).to_mkldnn();
  std::fflush(stdout);
}

// Reads until the writer closes the pipe, for five seconds at most.
std::string read_for_a_while(const FileDescriptor& reader) {
  constexpr std::chrono::seconds kPatience(5);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::string text;
  std::array<char, 4096> room{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waiting{.fd = reader.number(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || uninterrupted([&] { return ::poll(&waiting, 1, static_cast<int>(left.count())); }) <= 0)
      return text;
    const ssize_t got = uninterrupted([&] { return ::read(reader.number(), room.data(), room.size()); });
    if (got <= 0) return text;
    text.append(room.data(), static_cast<size_t>(got));
  }
}

// Runs in the copy of this process and ends it, even if `work` throws.
[[noreturn]] void work_as_copy(const FileDescriptor& output, const std::function<void()>& work) {
  ::dup2(output.number(), STDOUT_FILENO);
  try {
    work();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

// Returns what `work` prints in a copy of this process, so that the output does not appear here; cut after some
// seconds.
std::string output_of_a_copy(const std::function<void()>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  const pid_t copy = ::fork();
  if (copy == 0) work_as_copy(writer, work);
  writer = FileDescriptor();
  if (copy < 0) return "";
  std::string text = read_for_a_while(reader);
  ::kill(copy, SIGKILL);
  uninterrupted([&] { return ::waitpid(copy, nullptr, 0); });
  return text;
}

// LibTorch does not export oneDNN's functions for this; but in verbose mode oneDNN prints the set before its first
// operation.
std::string onednn_instruction_set() { return at::hasMKLDNN() ? isa_in_verbose(output_of_a_copy(talk)) : ""; }

}  // namespace

std::string isa_in_verbose(std::string_view text) {
  constexpr std::string_view kBefore = "info,cpu,isa:";
  const size_t at = text.find(kBefore);
  return at == std::string_view::npos ? "" : std::string(trim(first_line(text.substr(at + kBefore.size()))));
}

InstructionSets instruction_sets() {
  static const InstructionSets found = {
      .aten = at::get_cpu_capability(), .onednn = onednn_instruction_set(), .mkl = mkl_instruction_set()};
  return found;
}

namespace {

// Returns "13.0" for 13000.
std::string cuda_version(long packed) { return fmt::format("{}.{}", packed / 1000, packed % 1000 / 10); }

// Returns "9.19.0" for 91900.
std::string cudnn_version(long packed) {
  return fmt::format("{}.{}.{}", packed / 10000, packed % 10000 / 100, packed % 100);
}

// Returns a setting of the library's build description: "2.11.0" for "TORCH_VERSION=2.11.0, ".
std::string build_setting(const std::string& build, const std::string& name) {
  const size_t at = build.find(" " + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return std::string(trim(build.substr(begin, build.find(',', begin) - begin)));
}

}  // namespace

SoftwareVersions software_versions() {
  const auto& hooks = at::detail::getCUDAHooks();
  const std::string build = at::show_config();
  SoftwareVersions versions{.rnnlab = RNNLAB_VERSION,
                            .libtorch = build_setting(build, "TORCH_VERSION"),
                            .cuda = "",
                            .cudnn = "",
                            .libtorch_commit = build_setting(build, "COMMIT_SHA")};
  if (!hooks.hasCUDART()) return versions;
  versions.cuda = cuda_version(hooks.versionCUDART());
  if (hooks.hasCuDNN()) versions.cudnn = cudnn_version(hooks.versionRuntimeCuDNN());
  return versions;
}

Libraries libraries() { return {software_versions(), instruction_sets()}; }

namespace {

std::vector<std::string> refusals_of(LayerKind kind, const std::vector<Gpu>& gpus) {
  std::vector<std::string> reasons;
  const auto add = [&](const LayerWork& work) {
    const auto refusal = why_unsupported(kind, work);
    if (!refusal) return;
    // Cells have an option in common, and different layers that can.
    const auto limit_of = [](const std::string& reason) { return reason.substr(0, reason.find("; use layer: ")); };
    if (std::ranges::count(reasons, limit_of(refusal->message), limit_of) == 0) reasons.push_back(refusal->message);
  };
  add({.processor = Processor::kCpu});
  add({.processor = Processor::kGpu});
  for (const Gpu& gpu : gpus) add({.gpu = gpu});
  for (const Cell cell : all_cells())
    if (info_of(cell).library) add({.options = RecurrentOptions{.cell = cell, .hidden_size = 64}});
  for (const Cell cell : cells_of(kind))
    for (const RecurrentOptions& options : unusual_options(cell)) add({.options = options});
  return reasons;
}

std::vector<GpuReport> gpu_reports(const std::vector<Gpu>& gpus) {
  std::vector<GpuReport> reports;
  for (const Gpu& gpu : gpus) reports.push_back({gpu.name, text_of(gpu.capability), gpu.has_own_kernels});
  return reports;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names = {"cpu"};
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): LibTorch counts devices in int8, which is a number here
  const auto count = static_cast<int>(torch::cuda::device_count());
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("cuda:{}", i));
  return names;
}

// Returns the precisions that at least one device accepts; tf32 is fp32 on a CPU.
std::vector<std::string> precision_names() {
  const bool has_gpu = torch::cuda::is_available();
  std::vector<std::string> names;
  for (const auto& [precision, name] : config::EnumNames<Precision>::kNames)
    if (has_gpu || !unsupported_on_cpu(precision)) names.emplace_back(name);
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
  std::string lines = fmt::format("kernels     {}\n", report.own_kernels.empty() ? "none" : report.own_kernels);
  for (const GpuReport& gpu : report.gpus)
    if (!gpu.has_own_kernels)
      lines += fmt::format("            none for {}: LibTorch's operators are used instead\n", gpu.name);
  return lines;
}

std::string machine_lines(const MachineReport& report) {
  const Environment& e = report.environment;
  return fmt::format("rnnlab      {} ({}, {}, {}{})\n", e.software.rnnlab, build_kind(e.build), e.build.compiler,
                     e.build.git_revision.substr(0, 12), e.build.git_dirty ? " with changes" : "") +
         fmt::format("libraries   {}\n", versions_text(e.software)) +
         fmt::format("cpu         {}, {} of {} usable, {}, {} kernels\n", e.cpu.model, e.cpu.usable_cpus,
                     counted(e.cpu.logical_cpus, "logical CPU"), counted(e.num_threads, "thread"), report.cpu_kernels) +
         fmt::format("memory      {}\n", format_bytes(e.host.memory_bytes)) + gpu_lines(e.nvidia) +
         kernel_lines(report) + fmt::format("system      {}, {}\n", e.host.os, e.host.kernel);
}

// Lists each limit once, with the layers that it affects.
std::string limit_lines(const std::vector<LayerReport>& layers, size_t width) {
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
    if (layers_of[limit] != holders)
      lines += fmt::format("  {}\n", fmt::join(wrap(join(layers_of[limit], ", "), width - 2), "\n  "));
    holders = layers_of[limit];
    lines += fmt::format("    - {}\n", fmt::join(wrap(limit, width - 6), "\n      "));
  }
  return lines;
}

}  // namespace

std::vector<LayerReport> layer_reports(const std::vector<Gpu>& gpus) {
  std::vector<LayerReport> layers;
  for (const LayerKind kind : layer_kinds())
    layers.push_back(
        {std::string(config::name_of(kind)), std::string(info_of(kind).description), refusals_of(kind, gpus)});
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

namespace {

// Returns "device:     cpu, cuda:0" for the heading "device:".
std::string list_lines(const char* heading, const std::vector<std::string>& items, size_t width) {
  constexpr size_t kIndent = 12;
  const std::string between = "\n" + std::string(kIndent, ' ');
  return fmt::format("{:<{}}{}\n", heading, kIndent, fmt::join(wrap(join(items, ", "), width - kIndent), between));
}

std::string layer_lines(const std::vector<LayerReport>& layers, size_t width) {
  size_t name_width = 0;
  for (const LayerReport& layer : layers) name_width = std::max(name_width, layer.name.size());
  const std::string indent(name_width + 4, ' ');
  std::string lines;
  for (const LayerReport& layer : layers)
    lines += fmt::format("  {}  {}\n", padded(layer.name, name_width, Align::kLeft),
                         fmt::join(wrap(layer.computes, width - indent.size()), "\n" + indent));
  return lines;
}

}  // namespace

std::string machine_report_text(const MachineReport& report, size_t width) {
  std::string text = machine_lines(report);
  text += "\n" + list_lines("device:", report.devices, width) + list_lines("precision:", report.precisions, width);
  text += "layer:\n" + layer_lines(report.layers, width) + limit_lines(report.layers, width);
  for (const Warning& warning : report.warnings)
    text += fmt::format("\n{}\n", fmt::join(wrap("warning: " + warning.text, width - 2), "\n  "));
  return text;
}

std::string machine_report_json(const MachineReport& report) { return json_text(to_json(report)); }

}  // namespace rnnlab
