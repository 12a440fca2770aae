#include "bench/machine_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace rnnlab {
namespace {

std::vector<int64_t> new_processes(const GpuInfo& start, const GpuInfo& end) {
  std::vector<int64_t> found;
  for (const int64_t process : end.compute_pids)
    if (std::ranges::find(start.compute_pids, process) == start.compute_pids.end()) found.push_back(process);
  return found;
}

}  // namespace

std::vector<std::string> throttling(const GpuSurvey& survey) {
  std::vector<std::string> found;
  for (size_t i = 0; i < survey.gpus.size(); ++i) {
    const GpuInfo& gpu = survey.gpus[i];
    if (!gpu.throttle_reasons.empty())
      found.push_back(fmt::format("GPU {} ({}) was THROTTLED: {} (SM clock {} of {} MHz)", i, gpu.name,
                                  join(gpu.throttle_reasons, ", "), gpu.sm_clock_mhz, gpu.max_sm_clock_mhz));
  }
  return found;
}

std::vector<std::string> newcomers(const GpuSurvey& start, const GpuSurvey& end, const CpuInfo& cpu) {
  constexpr double kBusyFraction = 0.25;
  // In a container the program sees itself under a number that it does not know: one newcomer may be itself.
  constexpr size_t kMostThatMayBeThis = 1;
  std::vector<std::string> found;
  for (size_t i = 0; i < std::min(start.gpus.size(), end.gpus.size()); ++i) {
    const std::vector<int64_t> processes = new_processes(start.gpus[i], end.gpus[i]);
    if (processes.size() > kMostThatMayBeThis)
      found.push_back(fmt::format("GPU {} ({}) GOT COMPANY: processes that were not there at the start (pid {})", i,
                                  end.gpus[i].name, fmt::join(processes, ", ")));
  }
  if (cpu.busy_fraction >= kBusyFraction)
    found.push_back(fmt::format("THE CPU IS BUSY: other work took {:.0f} % of the {} usable CPUs at the end",
                                100 * cpu.busy_fraction, cpu.usable_cpus));
  return found;
}

}  // namespace rnnlab
