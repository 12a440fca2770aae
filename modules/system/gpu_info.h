// What NVML tells about GPUs: names, clocks, processes, energy. NVML is loaded when it is needed; without it nothing is
// told and nothing fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rnnlab {

// The GPUs of the machine as NVIDIA's management library (NVML) sees them: without CUDA, without waking them. The
// library comes with the driver and is opened at run time; a machine that has none has no GPUs here.

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
  std::vector<std::string>
      throttle_reasons;               // that hold the clocks down now: "power cap", "thermal slowdown (hardware)"
  std::vector<int64_t> compute_pids;  // processes that compute on it, this one left out
  double power_limit_watts = 0;       // that is enforced now

  // Not among the fields, so that files of earlier versions can still be read.
  int64_t compute_capability_major = 0;
  int64_t compute_capability_minor = 0;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("name", self.name);
    field("uuid", self.uuid);
    field("memory_total_bytes", self.memory_total_bytes);
    field("memory_used_bytes", self.memory_used_bytes);
    field("utilization_percent", self.utilization_percent);
    field("sm_clock_mhz", self.sm_clock_mhz);
    field("max_sm_clock_mhz", self.max_sm_clock_mhz);
    field("memory_clock_mhz", self.memory_clock_mhz);
    field("max_memory_clock_mhz", self.max_memory_clock_mhz);
    field("temperature_celsius", self.temperature_celsius);
    field("power_watts", self.power_watts);
    field("throttle_reasons", self.throttle_reasons);
    field("compute_pids", self.compute_pids);
    field("power_limit_watts", self.power_limit_watts, 3);
  }
};

struct GpuSurvey {
  std::string driver_version;
  std::string note;  // why there are no GPUs: "libnvidia-ml.so.1 not found"
  std::vector<GpuInfo> gpus;
  int64_t cuda_version = 0;  // the newest that the driver is for, as CUDA counts: 13000 is 13.0. Not among the fields

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("driver_version", self.driver_version);
    field("note", self.note);
    field("gpus", self.gpus);
  }
};

// What NVML does not answer is left at its default. `library` is another one in tests.
GpuSurvey survey_gpus(const char* library = "libnvidia-ml.so.1");

// Why CUDA programs built for `cuda_version` cannot use the GPUs that are there: the driver is older, with its version
// and the one that is wanted. Nothing where it is new enough, unknown, or there is no GPU.
std::optional<std::string> driver_fault(const GpuSurvey& survey, int64_t cuda_version);

// The reasons in NVML's bit mask that slow a running kernel down; idle clocks and a user's own settings are not among
// them.
std::vector<std::string> throttle_reasons(uint64_t mask);

// What a GPU has taken of energy, by its own counter: a witness of an epoch that no clock of the host has a part in.

class GpuEnergy {
 public:
  // Of the GPU with this UUID; "" is none. `library` is another one in tests.
  explicit GpuEnergy(const std::string& uuid, const char* library = "libnvidia-ml.so.1");
  ~GpuEnergy();
  GpuEnergy(const GpuEnergy&) = delete;
  GpuEnergy& operator=(const GpuEnergy&) = delete;

  // Joules since the driver was loaded. It counts in steps of a tenth of a second, and to ask takes milliseconds.
  // Nothing where the GPU does not count.
  std::optional<double> joules() const;

 private:
  struct Counter;
  std::unique_ptr<Counter> counter_;
};

}  // namespace rnnlab
