#include "results/gpu_info.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace rnnlab {
namespace {

// The part of NVML's binary interface that is used here (NVML API reference, sections "Device queries" and "Structs").
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;

struct NvmlMemory {
  unsigned long long total, free, used;
};

struct NvmlUtilization {
  unsigned gpu, memory;
};

struct NvmlProcess {  // nvmlProcessInfo_t as nvmlDeviceGetComputeRunningProcesses_v3 fills it
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct LibraryCloser {
  void operator()(void* handle) const { ::dlclose(handle); }
};

class Nvml {
 public:
  explicit Nvml(const char* library) : handle_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    is_ready_ = handle_ != nullptr && call("nvmlInit_v2");
  }
  ~Nvml() {
    if (is_ready_) call("nvmlShutdown");
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool is_loaded() const { return handle_ != nullptr; }
  bool is_ready() const { return is_ready_; }

  // False when the function is missing (an older driver) or fails (a GPU that lacks the sensor).
  template <class... Args>
  bool call(const char* name, Args... args) const {
    auto* function = reinterpret_cast<int (*)(Args...)>(::dlsym(handle_.get(), name));
    return function != nullptr && function(args...) == kNvmlSuccess;
  }

  template <class... Args>
  std::string text(const char* name, Args... args) const {
    std::array<char, 96> buffer{};
    return call(name, args..., buffer.data(), static_cast<unsigned>(buffer.size())) ? buffer.data() : "";
  }

  template <class... Args>
  int64_t number(const char* name, Args... args) const {
    unsigned value = 0;
    return call(name, args..., &value) ? int64_t{value} : 0;
  }

 private:
  std::unique_ptr<void, LibraryCloser> handle_;
  bool is_ready_ = false;
};

constexpr unsigned kUsualProcesses = 64;

std::vector<int64_t> other_compute_pids(const Nvml& nvml, NvmlDevice device) {
  std::vector<NvmlProcess> processes(kUsualProcesses);
  auto count = static_cast<unsigned>(processes.size());
  const auto ask = [&] {
    return nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, processes.data());
  };
  std::vector<int64_t> pids;
  bool is_answered = ask();
  if (!is_answered && count > processes.size()) {  // it says how many there are; some may come meanwhile
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

ComputeCapability capability_of(const Nvml& nvml, NvmlDevice device) {
  ComputeCapability capability;
  nvml.call("nvmlDeviceGetCudaComputeCapability", device, &capability.major, &capability.minor);
  return capability;
}

int64_t cuda_version_of(const Nvml& nvml) {
  int version = 0;
  nvml.call("nvmlSystemGetCudaDriverVersion_v2", &version);
  return version;
}

// Drivers that CUDA's release notes (table 3, "minimum required driver version") ask for.
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

GpuInfo inspect(const Nvml& nvml, NvmlDevice device) {
  NvmlMemory memory{};
  nvml.call("nvmlDeviceGetMemoryInfo", device, &memory);
  NvmlUtilization utilization{};
  nvml.call("nvmlDeviceGetUtilizationRates", device, &utilization);
  unsigned long long throttle_mask = 0;
  nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &throttle_mask);
  constexpr double kWattsPerMilliwatt = 1e-3;
  const ComputeCapability capability = capability_of(nvml, device);
  return {.name = nvml.text("nvmlDeviceGetName", device),
          .uuid = nvml.text("nvmlDeviceGetUUID", device),
          .memory_total_bytes = static_cast<int64_t>(memory.total),
          .memory_used_bytes = static_cast<int64_t>(memory.used),
          .utilization_percent = utilization.gpu,
          .sm_clock_mhz = nvml.number("nvmlDeviceGetClockInfo", device, kClockSm),
          .max_sm_clock_mhz = nvml.number("nvmlDeviceGetMaxClockInfo", device, kClockSm),
          .memory_clock_mhz = nvml.number("nvmlDeviceGetClockInfo", device, kClockMemory),
          .max_memory_clock_mhz = nvml.number("nvmlDeviceGetMaxClockInfo", device, kClockMemory),
          .temperature_celsius = nvml.number("nvmlDeviceGetTemperature", device, kTemperatureGpu),
          .power_watts = static_cast<double>(nvml.number("nvmlDeviceGetPowerUsage", device)) * kWattsPerMilliwatt,
          .throttle_reasons = throttle_reasons(throttle_mask),
          .compute_pids = other_compute_pids(nvml, device),
          .compute_capability_major = capability.major,
          .compute_capability_minor = capability.minor};
}

}  // namespace

std::vector<std::string> throttle_reasons(uint64_t mask) {
  // NVML API reference, "nvmlClocksThrottleReasons".
  constexpr std::array<std::pair<uint64_t, const char*>, 5> kReasons = {{
      {0x04, "power cap"},
      {0x08, "hardware slowdown"},
      {0x20, "thermal slowdown (software)"},
      {0x40, "thermal slowdown (hardware)"},
      {0x80, "power brake"},
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
      "the NVIDIA driver {} is for CUDA {} at most, and this build needs CUDA {}: install driver {} or newer",
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
  survey.driver_version = nvml.text("nvmlSystemGetDriverVersion");
  survey.cuda_version = cuda_version_of(nvml);
  const int64_t count = nvml.number("nvmlDeviceGetCount_v2");
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device)) survey.gpus.push_back(inspect(nvml, device));
  }
  return survey;
}

}  // namespace rnnlab
