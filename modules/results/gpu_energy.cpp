#include "results/gpu_energy.h"

#include "results/nvml_library.h"

namespace rnnlab {

struct GpuEnergy::Counter {
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
  auto counter = std::unique_ptr<Counter>(new Counter{.nvml = Nvml(library)});
  const bool is_found = counter->nvml.is_ready() &&
                        counter->nvml.call(RNNLAB_NVML(nvmlDeviceGetHandleByUUID), uuid.c_str(), &counter->device);
  if (is_found && counter->joules()) counter_ = std::move(counter);
}

GpuEnergy::~GpuEnergy() = default;

std::optional<double> GpuEnergy::joules() const { return counter_ ? counter_->joules() : std::nullopt; }

}  // namespace rnnlab
