// SPDX-License-Identifier: Apache-2.0
#include "train/loop/profiling.h"

#include <ATen/Context.h>
#include <ATen/record_function.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <malloc.h>

#include <cstdlib>
#include <fstream>

#include "base/folder.h"
#include "train/loop/cuda_functions.h"

namespace rnnlab {

Profiling::Profiling(const std::set<Activity>& activities) {
  using torch::profiler::impl::ProfilerConfig;
  using torch::profiler::impl::ProfilerState;
  // Without this setting Kineto prints a complaint to stderr on a machine without a GPU.
  ::setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  const ProfilerConfig config(ProfilerState::KINETO);
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(
      config, activities, {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
}

Profiling::~Profiling() {
  if (is_running_) torch::autograd::profiler::disableProfiler();
}

std::unique_ptr<torch::autograd::profiler::ProfilerResult> Profiling::finish() {
  is_running_ = false;
  return torch::autograd::profiler::disableProfiler();
}

TraceRange::TraceRange(const char* name) {
  if (begin_profiler_range.is_defined()) begin_profiler_range(name);
  auto watchers = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE);
  if (!watchers) return;
  record_ = std::make_unique<at::RecordFunction>(std::move(*watchers));
  record_->before(name);
}

TraceRange::~TraceRange() {
  record_.reset();
  if (end_profiler_range.is_defined()) end_profiler_range();
}

namespace {

c10::DeviceIndex index_of(c10::Device device) { return device.has_index() ? device.index() : c10::DeviceIndex{0}; }

// Linux counts the peak from the start of the process until this file is written (proc(5)). Some containers do not
// permit this.
bool reset_peak_of_process() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

std::optional<int64_t> peak_of_process() { return bytes_of_key(system_text("/proc/self/status"), "VmHWM"); }

bool& peak_was_reset() {
  static bool was_reset = false;
  return was_reset;
}

}  // namespace

void reset_peak_memory(c10::Device device) {
  if (device.is_cpu()) {
    peak_was_reset() = reset_peak_of_process();
    return;
  }
  c10::getDeviceAllocator(device.type())->resetPeakStats(index_of(device));
}

std::optional<int64_t> peak_memory_bytes(c10::Device device) {
  if (device.is_cpu()) return peak_was_reset() ? peak_of_process() : std::nullopt;
  const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(index_of(device));
  return stats.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
}

void release_cached_memory() {
  ::malloc_trim(0);
  if (!at::hasCUDA()) return;
  auto* allocator = c10::getDeviceAllocator(c10::kCUDA);
  if (allocator->initialized()) allocator->emptyCache();
}

}  // namespace rnnlab
