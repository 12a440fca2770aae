#include "bench/step_memory.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

#include "training/device_memory.h"

namespace rnnlab {
namespace {

// Hears of every allocation (positive) and release (negative) on the CPU by this thread.
class CpuMemoryWatch : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device device) override {
    if (!device.is_cpu()) return;
    held_ += bytes;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t held_ = 0;
  int64_t peak_ = 0;
};

int64_t peak_bytes_on_cpu(const std::function<void()>& work) {
  const auto watch = std::make_shared<CpuMemoryWatch>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, watch);
  work();
  return watch->peak();
}

}  // namespace

int64_t peak_bytes_during(c10::Device device, const std::function<void()>& work) {
  if (device.is_cpu()) return peak_bytes_on_cpu(work);
  reset_peak_memory(device);
  const int64_t before = peak_memory_bytes(device).value();
  work();
  return peak_memory_bytes(device).value() - before;
}

}  // namespace rnnlab
