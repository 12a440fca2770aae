// Who else uses the machine while a run goes on. environment.h looks once, at the start; this looks from one moment to
// another, by what the operating system has counted in between, which costs the run nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "system/gpu_info.h"
#include "system/warning.h"

namespace rnnlab {

class ContentionMonitor {
 public:
  // From now on. `gpus`: those to watch, as they are now that this process uses them, for in a container it cannot tell
  // itself from others. `num_threads`: how many CPUs the work needs. `num_processes` of this host do it together, each
  // as much as this one.
  ContentionMonitor(GpuSurvey gpus, int64_t num_threads, int64_t num_processes = 1);

  // Until now: "THE CPU WAS SHARED: ...", "GPU 0 (NVIDIA H200) WAS SHARED: ...".
  std::vector<Warning> warnings() const;

 private:
  GpuSurvey gpus_;
  int64_t num_threads_;
  int64_t num_processes_;
  std::string cpu_counters_;
  double own_seconds_;
  std::chrono::steady_clock::time_point since_;
};

// The part of the time of `cpus` that other processes took between two readings of /proc/stat, of which this one had
// `own_seconds`, at so many ticks a second.
double part_of_others(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus,
                      double own_seconds, double ticks_per_second);

// A sentence for each GPU of the start, known again by its UUID, that processes compute on which did not then.
std::vector<Warning> newcomers(const GpuSurvey& start, const GpuSurvey& now);

}  // namespace rnnlab
