// SPDX-License-Identifier: Apache-2.0
#include "base/system/gpu_info.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvml.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/shared_library.h"

namespace rnnlab {

// Opens NVIDIA's management library (NVML) at run time and calls its functions, with the declarations of NVIDIA's own
// header, nvml.h.
inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// Holds the declaration and the name of a function of NVML, for Nvml::call.
template <class Function>
struct NvmlFunction {
  const char* name;
};
#define RNNLAB_NVML(function) (::rnnlab::NvmlFunction<decltype(function)>{#function})

class Nvml {
 public:
  explicit Nvml(const char* library) : handle_(open_shared_library(library, RTLD_NOW | RTLD_LOCAL).handle) {
    is_ready_ = handle_ != nullptr && call(RNNLAB_NVML(nvmlInit_v2));
  }
  ~Nvml() {
    if (is_ready_) call(RNNLAB_NVML(nvmlShutdown));
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool is_loaded() const { return handle_ != nullptr; }
  bool is_ready() const { return is_ready_; }

  // Returns false if the function is missing (an older driver) or fails (a GPU without the sensor).
  template <class Function, class... Args>
  bool call(NvmlFunction<Function> declared, Args... args) const {
    auto* function = reinterpret_cast<Function*>(::dlsym(handle_.get(), declared.name));
    return function != nullptr && function(args...) == NVML_SUCCESS;
  }

  template <class Function, class... Args>
  std::string text(NvmlFunction<Function> declared, Args... args) const {
    std::array<char, 96> buffer{};
    return call(declared, args..., buffer.data(), static_cast<unsigned>(buffer.size())) ? buffer.data() : "";
  }

  template <class Function, class... Args>
  int64_t number(NvmlFunction<Function> declared, Args... args) const {
    unsigned value = 0;
    return call(declared, args..., &value) ? int64_t{value} : 0;
  }

 private:
  struct Closer {
    void operator()(void* handle) const { ::dlclose(handle); }
  };

  std::unique_ptr<void, Closer> handle_;
  bool is_ready_ = false;
};

namespace {

constexpr unsigned kUsualProcesses = 64;

std::vector<int64_t> other_compute_pids(const Nvml& nvml, nvmlDevice_t device) {
  std::vector<nvmlProcessInfo_t> processes(kUsualProcesses);
  auto count = static_cast<unsigned>(processes.size());
  const auto ask = [&] {
    return nvml.call(RNNLAB_NVML(nvmlDeviceGetComputeRunningProcesses_v3), device, &count, processes.data());
  };
  std::vector<int64_t> pids;
  bool is_answered = ask();
  if (!is_answered && count > processes.size()) {  // `count` is now the number needed; it may still grow
    processes.resize(count + kUsualProcesses);
    count = static_cast<unsigned>(processes.size());
    is_answered = ask();
  }
  if (!is_answered) return pids;
  for (unsigned i = 0; i < count && i < processes.size(); ++i)
    if (int64_t{processes[i].pid} != ::getpid()) pids.push_back(processes[i].pid);
  return pids;
}

struct ComputeCapability {
  int major = 0;
  int minor = 0;
};

ComputeCapability capability_of(const Nvml& nvml, nvmlDevice_t device) {
  ComputeCapability capability;
  nvml.call(RNNLAB_NVML(nvmlDeviceGetCudaComputeCapability), device, &capability.major, &capability.minor);
  return capability;
}

int64_t cuda_version_of(const Nvml& nvml) {
  int version = 0;
  nvml.call(RNNLAB_NVML(nvmlSystemGetCudaDriverVersion_v2), &version);
  return version;
}

// Returns the minimum driver version in CUDA's release notes (table 3, "minimum required driver version").
std::string_view wanted_driver(int64_t cuda_major) {
  switch (cuda_major) {
    case 12:
      return "525.60.13";
    case 13:
      return "580.65.06";
    default:
      return "";
  }
}

std::string version_text(int64_t cuda_version) {
  return fmt::format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

GpuInfo inspect(const Nvml& nvml, nvmlDevice_t device) {
  nvmlMemory_t memory{};
  nvml.call(RNNLAB_NVML(nvmlDeviceGetMemoryInfo), device, &memory);
  nvmlUtilization_t utilization{};
  nvml.call(RNNLAB_NVML(nvmlDeviceGetUtilizationRates), device, &utilization);
  unsigned long long throttle_mask = 0;
  nvml.call(RNNLAB_NVML(nvmlDeviceGetCurrentClocksThrottleReasons), device, &throttle_mask);
  constexpr double kWattsPerMilliwatt = 1e-3;
  const ComputeCapability capability = capability_of(nvml, device);
  return {.name = nvml.text(RNNLAB_NVML(nvmlDeviceGetName), device),
          .uuid = nvml.text(RNNLAB_NVML(nvmlDeviceGetUUID), device),
          .memory_total_bytes = static_cast<int64_t>(memory.total),
          .memory_used_bytes = static_cast<int64_t>(memory.used),
          .utilization_percent = utilization.gpu,
          .sm_clock_mhz = nvml.number(RNNLAB_NVML(nvmlDeviceGetClockInfo), device, NVML_CLOCK_SM),
          .max_sm_clock_mhz = nvml.number(RNNLAB_NVML(nvmlDeviceGetMaxClockInfo), device, NVML_CLOCK_SM),
          .memory_clock_mhz = nvml.number(RNNLAB_NVML(nvmlDeviceGetClockInfo), device, NVML_CLOCK_MEM),
          .max_memory_clock_mhz = nvml.number(RNNLAB_NVML(nvmlDeviceGetMaxClockInfo), device, NVML_CLOCK_MEM),
          .temperature_celsius = nvml.number(RNNLAB_NVML(nvmlDeviceGetTemperature), device, NVML_TEMPERATURE_GPU),
          .power_watts =
              static_cast<double>(nvml.number(RNNLAB_NVML(nvmlDeviceGetPowerUsage), device)) * kWattsPerMilliwatt,
          .throttle_reasons = throttle_reasons(throttle_mask),
          .compute_pids = other_compute_pids(nvml, device),
          .power_limit_watts = static_cast<double>(nvml.number(RNNLAB_NVML(nvmlDeviceGetEnforcedPowerLimit), device)) *
                               kWattsPerMilliwatt,
          .compute_capability_major = capability.major,
          .compute_capability_minor = capability.minor};
}

}  // namespace

std::vector<std::string> throttle_reasons(uint64_t mask) {
  // The names are from the NVML API reference, "nvmlClocksThrottleReasons".
  constexpr std::array<std::pair<uint64_t, const char*>, 5> kReasons = {{
      {nvmlClocksThrottleReasonSwPowerCap, "power cap"},
      {nvmlClocksThrottleReasonHwSlowdown, "hardware slowdown"},
      {nvmlClocksThrottleReasonSwThermalSlowdown, "thermal slowdown (software)"},
      {nvmlClocksThrottleReasonHwThermalSlowdown, "thermal slowdown (hardware)"},
      {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "power brake"},
  }};
  std::vector<std::string> reasons;
  for (const auto& [bit, name] : kReasons)
    if ((mask & bit) != 0) reasons.emplace_back(name);
  return reasons;
}

std::optional<std::string> driver_fault(const GpuSurvey& survey, int64_t cuda_version) {
  const int64_t wanted = cuda_version / 1000, found = survey.cuda_version / 1000;
  if (survey.gpus.empty() || found == 0 || found >= wanted) return std::nullopt;
  const std::string_view driver = wanted_driver(wanted);
  return fmt::format(
      "the NVIDIA driver {} supports CUDA up to {}, but this build needs CUDA {}: install driver {} or newer",
      survey.driver_version, version_text(survey.cuda_version), version_text(cuda_version),
      driver.empty() ? "of that CUDA" : driver);
}

GpuSurvey survey_gpus(const char* library) {
  GpuSurvey survey;
  const Nvml nvml(library);
  if (!nvml.is_ready()) {
    survey.note = fmt::format("{} {}", library, nvml.is_loaded() ? "does not start: no driver is loaded" : "not found");
    return survey;
  }
  survey.driver_version = nvml.text(RNNLAB_NVML(nvmlSystemGetDriverVersion));
  survey.cuda_version = cuda_version_of(nvml);
  const int64_t count = nvml.number(RNNLAB_NVML(nvmlDeviceGetCount_v2));
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = nullptr;
    if (nvml.call(RNNLAB_NVML(nvmlDeviceGetHandleByIndex_v2), i, &device)) survey.gpus.push_back(inspect(nvml, device));
  }
  return survey;
}

struct GpuEnergy::Counter {
  explicit Counter(const char* library) : nvml(library) {}

  Nvml nvml;
  nvmlDevice_t device = nullptr;

  std::optional<double> joules() const {
    constexpr double kJoulesPerMillijoule = 1e-3;
    unsigned long long millijoules = 0;
    if (!nvml.call(RNNLAB_NVML(nvmlDeviceGetTotalEnergyConsumption), device, &millijoules)) return std::nullopt;
    return static_cast<double>(millijoules) * kJoulesPerMillijoule;
  }
};

GpuEnergy::GpuEnergy(const std::string& uuid, const char* library) {
  if (uuid.empty()) return;
  auto counter = std::make_unique<Counter>(library);
  const bool is_found = counter->nvml.is_ready() &&
                        counter->nvml.call(RNNLAB_NVML(nvmlDeviceGetHandleByUUID), uuid.c_str(), &counter->device);
  if (is_found && counter->joules()) counter_ = std::move(counter);
}

GpuEnergy::~GpuEnergy() = default;

std::optional<double> GpuEnergy::joules() const { return counter_ ? counter_->joules() : std::nullopt; }

}  // namespace rnnlab
