#include "system/contention.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/numbers.h"
#include "system/machine.h"

namespace rnnlab {
namespace {

// Returns the CPU time of all threads of this process, in user and kernel mode.
double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int64_t num_new(std::vector<int64_t> before, std::vector<int64_t> now) {
  std::ranges::sort(before);
  std::ranges::sort(now);
  std::vector<int64_t> fresh;
  std::ranges::set_difference(now, before, std::back_inserter(fresh));
  return std::ssize(fresh);
}

}  // namespace

double part_of_others(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus,
                      double own_seconds, double ticks_per_second) {
  const CpuTicks ticks = cpu_ticks_between(before, after, cpus);
  if (ticks.total <= 0) return 0;
  return std::clamp((ticks.busy - own_seconds * ticks_per_second) / ticks.total, 0.0, 1.0);
}

std::vector<Warning> newcomers(const GpuSurvey& start, const GpuSurvey& now) {
  std::vector<Warning> found;
  for (const GpuInfo& gpu : start.gpus) {
    const auto same = std::ranges::find(now.gpus, gpu.uuid, &GpuInfo::uuid);
    if (same == now.gpus.end()) continue;
    const int64_t count = num_new(gpu.compute_pids, same->compute_pids);
    if (count > 0)
      found.emplace_back(warning::kGpuShared,
                         fmt::format("GPU {} ({}) WAS SHARED: {} started during the run, so its times are not reliable",
                                     same - now.gpus.begin(), same->name, counted(count, "other process")));
  }
  return found;
}

ContentionMonitor::ContentionMonitor(GpuSurvey gpus, int64_t num_threads, int64_t num_processes)
    : gpus_(std::move(gpus)),
      num_threads_(num_threads * num_processes),
      num_processes_(num_processes),
      cpu_counters_(cpu_counters()),
      own_seconds_(own_cpu_seconds()),
      since_(std::chrono::steady_clock::now()) {}

std::vector<Warning> ContentionMonitor::warnings() const {
  constexpr std::chrono::seconds kShortest{1};  // the counters tick a hundred times a second
  std::vector<Warning> found = newcomers(gpus_, survey_gpus());
  if (std::chrono::steady_clock::now() - since_ < kShortest) return found;
  const std::vector<int64_t> cpus = usable_cpus();
  const double own_seconds = static_cast<double>(num_processes_) * (own_cpu_seconds() - own_seconds_);
  const double part =
      part_of_others(cpu_counters_, cpu_counters(), cpus, own_seconds, static_cast<double>(::sysconf(_SC_CLK_TCK)));
  if (disturbs(part, std::ssize(cpus), num_threads_))
    found.emplace_back(warning::kCpuShared,
                       fmt::format("THE CPU WAS SHARED: other work took {:.0f} % of {} during the run", 100 * part,
                                   counted(std::ssize(cpus), "usable CPU")));
  return found;
}

}  // namespace rnnlab
