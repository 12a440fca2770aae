#include "bench/kernel_log.h"

#include <kineto/ActivityType.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "recurrent/gpu_device.h"
#include "training/profiling.h"

namespace rnnlab {
namespace {

namespace profiler = torch::autograd::profiler;

constexpr double kSecondsPerNanosecond = 1e-9;

// User ranges are mirrored to the device as well.
bool is_device_work(const profiler::KinetoEvent& event) {
  using libkineto::ActivityType;
  const auto type = static_cast<ActivityType>(event.activityType());
  return type == ActivityType::CONCURRENT_KERNEL || type == ActivityType::GPU_MEMCPY ||
         type == ActivityType::GPU_MEMSET;
}

bool is_operator(const profiler::KinetoEvent& event) {
  return static_cast<libkineto::ActivityType>(event.activityType()) == libkineto::ActivityType::CPU_OP;
}

// Kernels overlap where there are several streams; each counts for itself.
std::vector<KernelUse> longest_first(const std::map<std::string, KernelUse>& by_name) {
  std::vector<KernelUse> uses;
  for (const auto& [name, use] : by_name) uses.push_back(use);
  std::ranges::stable_sort(uses, std::greater<>(), &KernelUse::seconds);
  return uses;
}

void add_use(std::map<std::string, KernelUse>& by_name, const std::string& name, double seconds) {
  KernelUse& use = by_name[name];
  use.name = name;
  ++use.count;
  use.seconds += seconds;
}

std::vector<KernelUse> device_kernels(const profiler::ProfilerResult& result) {
  std::map<std::string, KernelUse> by_name;
  for (const profiler::KinetoEvent& event : result.events())
    if (is_device_work(event))
      add_use(by_name, event.name(), static_cast<double>(event.durationNs()) * kSecondsPerNanosecond);
  return longest_first(by_name);
}

std::vector<KernelUse> operators(const profiler::ProfilerResult& result) {
  std::vector<CallSpan> calls;
  for (const profiler::KinetoEvent& event : result.events())
    if (is_operator(event)) calls.push_back({event.name(), event.startThreadId(), event.startNs(), event.endNs()});
  return self_times(std::move(calls));
}

}  // namespace

std::vector<KernelUse> self_times(std::vector<CallSpan> calls) {
  // A call comes before those within it.
  std::ranges::sort(calls, [](const CallSpan& a, const CallSpan& b) {
    return std::tuple(a.thread, a.start_ns, b.end_ns) < std::tuple(b.thread, b.start_ns, a.end_ns);
  });
  std::vector<double> self(calls.size());
  std::vector<size_t> open;  // the calls that the present one is within
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto encloses = [&](const CallSpan& outer) {
      return outer.thread == calls[i].thread && outer.end_ns >= calls[i].end_ns;
    };
    while (!open.empty() && !encloses(calls[open.back()])) open.pop_back();
    self[i] = static_cast<double>(calls[i].end_ns - calls[i].start_ns) * kSecondsPerNanosecond;
    if (!open.empty()) self[open.back()] -= self[i];
    open.push_back(i);
  }
  std::map<std::string, KernelUse> by_name;
  for (size_t i = 0; i < calls.size(); ++i) add_use(by_name, calls[i].name, self[i]);
  return longest_first(by_name);
}

std::vector<KernelUse> kernels_during(c10::Device device, const std::function<void()>& work) {
  constexpr size_t kMostKinds = 20;
  constexpr size_t kMostBytes = 160;
  Profiling profiling({device.is_cpu() ? Profiling::Activity::CPU : Profiling::Activity::CUDA});
  work();
  if (device.is_cuda()) synchronize(device);
  const auto result = profiling.finish();
  std::vector<KernelUse> uses = device.is_cpu() ? operators(*result) : device_kernels(*result);
  if (uses.size() > kMostKinds) uses.resize(kMostKinds);
  for (KernelUse& use : uses)
    if (use.name.size() > kMostBytes) use.name.resize(kMostBytes);
  return uses;
}

}  // namespace rnnlab
