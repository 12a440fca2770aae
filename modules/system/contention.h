// Detects other processes that use the machine during a run. results/environment.h records the machine once, at the
// start; ContentionMonitor compares two moments by the operating system's counters, which costs the run no time.
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
  // Begins the period. `gpus` are the GPUs to watch, as surveyed when this process already uses them, because in a
  // container this process cannot tell its own id on a GPU from those of other processes. `num_threads` is the
  // number of CPUs that the work needs. `num_processes` processes of this host do the work together, each as much as
  // this one.
  ContentionMonitor(GpuSurvey gpus, int64_t num_threads, int64_t num_processes = 1);

  // Returns warnings for the time since the construction: "THE CPU WAS SHARED: ...", "GPU 0 (NVIDIA H200) WAS SHARED:
  // ...".
  std::vector<Warning> warnings() const;

 private:
  GpuSurvey gpus_;
  int64_t num_threads_;
  int64_t num_processes_;
  std::string cpu_counters_;
  double own_seconds_;
  std::chrono::steady_clock::time_point since_;
};

// Returns the part of the time of `cpus` that other processes used between two readings of /proc/stat. This process
// used `own_seconds`, and a second has `ticks_per_second`.
double part_of_others(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus,
                      double own_seconds, double ticks_per_second);

// Returns a warning for each GPU of `start`, identified by its UUID, on which new processes compute in `now`.
std::vector<Warning> newcomers(const GpuSurvey& start, const GpuSurvey& now);

}  // namespace rnnlab
