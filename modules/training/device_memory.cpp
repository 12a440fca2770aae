#include "training/device_memory.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <sys/resource.h>

namespace rnnlab {
namespace {

c10::DeviceIndex index_of(c10::Device device) { return device.has_index() ? device.index() : c10::DeviceIndex{0}; }

}  // namespace

void reset_peak_memory(c10::Device device) {
  if (device.is_cpu()) return;
  c10::getDeviceAllocator(device.type())->resetPeakStats(index_of(device));
}

int64_t peak_memory_bytes(c10::Device device) {
  if (device.is_cpu()) {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;  // Linux counts it in KiB
  }
  const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(index_of(device));
  return stats.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
}

void release_cached_memory() {
  if (!at::hasCUDA()) return;
  auto* allocator = c10::getDeviceAllocator(c10::kCUDA);
  if (allocator->initialized()) allocator->emptyCache();
}

}  // namespace rnnlab
