#include "results/bystanders.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/numbers.h"

namespace rnnlab {
namespace {

// Of all threads, in user and kernel mode.
double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

double part_of_others(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus,
                      double own_seconds, double ticks_per_second) {
  const CpuTicks ticks = cpu_ticks_between(before, after, cpus);
  if (ticks.total <= 0) return 0;
  return std::clamp((ticks.busy - own_seconds * ticks_per_second) / ticks.total, 0.0, 1.0);
}

std::vector<std::string> newcomers(const GpuSurvey& start, const GpuSurvey& now) {
  std::vector<std::string> found;
  for (size_t i = 0; i < std::min(start.gpus.size(), now.gpus.size()); ++i) {
    const size_t expected = start.gpus[i].compute_pids.size() + 1;
    const size_t counted_now = now.gpus[i].compute_pids.size();
    if (counted_now > expected)
      found.push_back(fmt::format("GPU {} ({}) WAS SHARED: {} came while it trained: its times are not yours", i,
                                  now.gpus[i].name,
                                  counted(static_cast<int64_t>(counted_now - expected), "other process")));
  }
  return found;
}

Bystanders::Bystanders(const Environment& environment)
    : environment_(environment), cpu_counters_(cpu_counters()), own_seconds_(own_cpu_seconds()) {}

std::vector<std::string> Bystanders::warnings() const {
  constexpr double kSharedFraction = 0.25;
  constexpr std::chrono::seconds kShortest{1};  // the counters tick a hundred times a second
  std::vector<std::string> found = newcomers(environment_.nvidia, survey_gpus());
  if (std::chrono::steady_clock::now() - since_ < kShortest) return found;
  const double part = part_of_others(cpu_counters_, cpu_counters(), usable_cpus(), own_cpu_seconds() - own_seconds_,
                                     static_cast<double>(::sysconf(_SC_CLK_TCK)));
  if (part >= kSharedFraction)
    found.push_back(fmt::format("THE CPU WAS SHARED: other work took {:.0f} % of {} while it trained", 100 * part,
                                counted(environment_.cpu.usable_cpus, "usable CPU")));
  return found;
}

}  // namespace rnnlab
