#include "results/environment.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"
#include "results/json_fields.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

std::vector<Warning> gpu_warnings(const GpuInfo& gpu, size_t index) {
  constexpr int64_t kBusyPercent = 10;
  std::vector<Warning> found;
  const std::string name = fmt::format("GPU {} ({})", index, gpu.name);
  if (!gpu.compute_pids.empty())
    found.emplace_back(
        warning::kGpuShared,
        fmt::format("{} IS SHARED: {} on it at the start (pid {}): its times are not yours", name,
                    counted(std::ssize(gpu.compute_pids), "other process"), fmt::join(gpu.compute_pids, ", ")));
  else if (gpu.utilization_percent >= kBusyPercent)
    found.emplace_back(warning::kGpuBusy,
                       fmt::format("{} IS BUSY: {} % in use at the start by a process that is not visible from here",
                                   name, gpu.utilization_percent));
  if (!gpu.throttle_reasons.empty())
    found.emplace_back(warning::kGpuThrottled,
                       fmt::format("{} IS THROTTLED: {} (SM clock {} of {} MHz)", name,
                                   join(gpu.throttle_reasons, ", "), gpu.sm_clock_mhz, gpu.max_sm_clock_mhz));
  return found;
}

// After the first CUDA call this process is among those that keep the GPU busy, and in a container it cannot tell its
// own process from others: so who else is there is what the first survey of the process saw.
GpuSurvey survey_gpus_with_first_occupancy() {
  GpuSurvey survey = survey_gpus();
  static const GpuSurvey first = survey;
  for (size_t i = 0; i < std::min(survey.gpus.size(), first.gpus.size()); ++i) {
    survey.gpus[i].compute_pids = first.gpus[i].compute_pids;
    survey.gpus[i].utilization_percent = first.gpus[i].utilization_percent;
  }
  return survey;
}

constexpr const char* kThreadsKey = "training.num_threads (in a benchmark num_threads)";

bool has_too_many_threads(const Environment& environment) {
  return environment.cpu.usable_cpus > 0 && environment.num_threads > environment.cpu.usable_cpus;
}

// Threads that share their CPUs with other work wait for each other at every operation.
std::string remedy_of_a_busy_cpu(const Environment& environment) {
  if (has_too_many_threads(environment))
    return ", perhaps the threads of this program's previous run, which are more than the CPUs";
  return environment.num_threads > 1 ? fmt::format("; fewer threads may be faster: set {}", kThreadsKey) : "";
}

// The load average counts threads that run or wait for a CPU. A previous run of all CPUs leaves as many behind.
std::optional<Warning> queue_warning(const CpuInfo& cpu) {
  constexpr double kRounding = 0.5;
  const bool is_long = !cpu.load_average.empty() && cpu.logical_cpus > 0 &&
                       cpu.load_average[0] > static_cast<double>(cpu.logical_cpus) + kRounding;
  if (!is_long) return std::nullopt;
  return Warning{warning::kHighLoad,
                 fmt::format("the load average at the start was {:.1f} on {}: threads waited for CPUs",
                             cpu.load_average[0], counted(cpu.logical_cpus, "CPU"))};
}

}  // namespace

std::string gpu_model(const GpuSurvey& survey) {
  std::map<std::string, int> counts;
  for (const GpuInfo& gpu : survey.gpus) ++counts[gpu.name];
  std::vector<std::string> models;
  for (const auto& [name, count] : counts) models.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  return join(models, ", ");
}

std::string model_of_one_gpu(const GpuSurvey& survey) {
  std::vector<std::string> models;
  for (const GpuInfo& gpu : survey.gpus) add_once(models, gpu.name);
  return one_of(models);
}

Environment collect_environment(std::vector<std::string> command_line, int64_t num_threads, Libraries libraries) {
  return {.start_time = fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr))),
          .command_line = std::move(command_line),
          .num_threads = num_threads,
          .host = host_info(),
          .cpu = cpu_info(),
          .nvidia = survey_gpus_with_first_occupancy(),
          .build = build_info(),
          .software = std::move(libraries.versions),
          .instruction_sets = std::move(libraries.instruction_sets),
          .variables = kernel_variables(),
          .process = process_facts()};
}

std::vector<Warning> warnings(const Environment& environment) {
  std::vector<Warning> found;
  if (const auto build = build_warning(environment.build)) found.push_back(*build);
  if (has_too_many_threads(environment))
    found.emplace_back(warning::kMoreThreadsThanCpus,
                       fmt::format("MORE THREADS THAN CPUS: {} on {}, so they wait for each other: lower {}",
                                   counted(environment.num_threads, "thread"),
                                   counted(environment.cpu.usable_cpus, "usable CPU"), kThreadsKey));
  if (disturbs(environment.cpu.busy_fraction, environment.cpu.usable_cpus, environment.num_threads))
    found.emplace_back(warning::kCpuBusy, fmt::format("THE CPU IS BUSY: other work took {:.0f} % of {} at the start{}",
                                                      100 * environment.cpu.busy_fraction,
                                                      counted(environment.cpu.usable_cpus, "usable CPU"),
                                                      remedy_of_a_busy_cpu(environment)));
  if (environment.process)
    for (Warning& warning : warnings(*environment.process)) found.push_back(std::move(warning));
  if (const auto queue = queue_warning(environment.cpu)) found.push_back(*queue);
  for (size_t i = 0; i < environment.nvidia.gpus.size(); ++i)
    for (Warning& warning : gpu_warnings(environment.nvidia.gpus[i], i)) found.push_back(std::move(warning));
  return found;
}

std::string environment_sha256(const Environment& environment) {
  return Sha256().update(json_text(to_json(environment))).hex();
}

void write_environment(const std::filesystem::path& run_folder, const Environment& environment) {
  write_record(run_folder / kEnvironmentFile, environment);
}

Environment read_environment(const std::filesystem::path& run_folder) {
  return read_record<Environment>(run_folder / kEnvironmentFile);
}

}  // namespace rnnlab
