// SPDX-License-Identifier: Apache-2.0
// Reads the GPUs of the machine through NVIDIA's management library (NVML): names, clocks, processes, energy; without
// CUDA and without waking the GPUs. NVML comes with the driver and is opened at run time. Without NVML the results are
// empty and no function fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"

namespace rnnlab {

struct GpuInfo {
  std::string name;
  std::string uuid;
  int64_t memory_total_bytes = 0;
  int64_t memory_used_bytes = 0;
  int64_t utilization_percent = 0;  // by any process, over about the last second
  int64_t sm_clock_mhz = 0;
  int64_t max_sm_clock_mhz = 0;
  int64_t memory_clock_mhz = 0;
  int64_t max_memory_clock_mhz = 0;
  int64_t temperature_celsius = 0;
  double power_watts = 0;
  std::vector<std::string> throttle_reasons;  // why clocks are low now: "power cap", "thermal slowdown (hardware)"
  std::vector<int64_t> compute_pids;          // processes that compute on it, without this process
  double power_limit_watts = 0;               // enforced now

  // These two members are not in the field list, so that files of earlier versions can still be read.
  int64_t compute_capability_major = 0;
  int64_t compute_capability_minor = 0;

  RNNLAB_FIELDS(name, uuid, memory_total_bytes, memory_used_bytes, utilization_percent, sm_clock_mhz, max_sm_clock_mhz,
                memory_clock_mhz, max_memory_clock_mhz, temperature_celsius, power_watts, throttle_reasons,
                compute_pids, since<3>(power_limit_watts))
};

struct GpuSurvey {
  std::string driver_version;
  std::string note;  // why there are no GPUs: "libnvidia-ml.so.1 not found"
  std::vector<GpuInfo> gpus;
  int64_t cuda_version = 0;  // the newest that the driver supports, e.g. 13000 for 13.0; not in the field list

  RNNLAB_FIELDS(driver_version, note, gpus)
};

// Surveys the GPUs; values that NVML does not provide keep their defaults. `library` differs in tests.
GpuSurvey survey_gpus(const char* library = "libnvidia-ml.so.1");

// Returns why CUDA programs built for `cuda_version` cannot use the GPUs: the driver is too old, with its version and
// the required version. Returns nothing if the driver is new enough or unknown, or if there is no GPU.
std::optional<std::string> driver_fault(const GpuSurvey& survey, int64_t cuda_version);

// Returns the reasons in NVML's bit mask that slow a running kernel down. Idle clocks and a user's own settings are
// left out.
std::vector<std::string> throttle_reasons(uint64_t mask);

// Measures the energy used by a GPU by the GPU's own counter, which does not depend on any clock of the host.
class GpuEnergy {
 public:
  // Opens the GPU with this UUID; "" means no GPU. `library` differs in tests.
  explicit GpuEnergy(const std::string& uuid, const char* library = "libnvidia-ml.so.1");
  ~GpuEnergy();
  GpuEnergy(const GpuEnergy&) = delete;
  GpuEnergy& operator=(const GpuEnergy&) = delete;

  // Returns the joules since the driver was loaded, or nothing if the GPU has no counter. The counter is updated ten
  // times a second, and reading it takes milliseconds.
  std::optional<double> joules() const;

 private:
  struct Counter;
  std::unique_ptr<Counter> counter_;
};

}  // namespace rnnlab
