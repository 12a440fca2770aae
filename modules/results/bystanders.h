// Who else uses the machine while a run goes on. environment.h looks once, at the start; this looks from one moment to
// another, by what the operating system has counted in between, which costs the run nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/environment.h"

namespace rnnlab {

class Bystanders {
 public:
  // From now on. `environment` is of the start of the program, before its first CUDA call; it must outlive this.
  explicit Bystanders(const Environment& environment);

  // Until now: "THE CPU WAS SHARED: ...", "GPU 0 (NVIDIA H200) WAS SHARED: ...".
  std::vector<std::string> warnings() const;

 private:
  const Environment& environment_;
  std::string cpu_counters_;
  double own_seconds_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// The part of the time of `cpus` that other processes took between two readings of /proc/stat, of which this one had
// `own_seconds`, at so many ticks a second.
double part_of_others(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus,
                      double own_seconds, double ticks_per_second);

// The GPUs that more processes compute on than at the start of the program. This process may count as one of them: in a
// container it does not know its own number.
std::vector<std::string> newcomers(const GpuSurvey& start, const GpuSurvey& now);

}  // namespace rnnlab
