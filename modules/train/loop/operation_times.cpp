// SPDX-License-Identifier: Apache-2.0
#include "train/loop/operation_times.h"

#include <fmt/format.h>
#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace rnnlab {
namespace {

using libkineto::ActivityType;
using torch::autograd::profiler::KinetoEvent;
using torch::autograd::profiler::ProfilerResult;

constexpr double kSecondsPerNanosecond = 1e-9;

ActivityType type_of(const KinetoEvent& event) { return static_cast<ActivityType>(event.activityType()); }

void add_use(std::map<std::string, KernelUse>& by_name, const std::string& name, double seconds) {
  KernelUse& use = by_name[name];
  use.name = name;
  ++use.count;
  use.seconds += seconds;
}

std::vector<KernelUse> longest_first(const std::map<std::string, KernelUse>& by_name) {
  std::vector<KernelUse> uses;
  for (const auto& [name, use] : by_name) uses.push_back(use);
  std::ranges::stable_sort(uses, std::greater<>(), &KernelUse::seconds);
  return uses;
}

std::vector<KernelUse> times_on_host(const ProfilerResult& result, const std::set<ActivityType>& types) {
  std::vector<CallSpan> calls;
  for (const KinetoEvent& event : result.events())
    if (types.contains(type_of(event)))
      calls.push_back({event.name(), event.startThreadId(), event.startNs(), event.endNs()});
  return self_times(std::move(calls));
}

}  // namespace

std::vector<KernelUse> self_times(std::vector<CallSpan> calls) {
  // Sorting places a call before the calls within it.
  std::ranges::sort(calls, [](const CallSpan& a, const CallSpan& b) {
    return std::tuple(a.thread, a.start_ns, b.end_ns) < std::tuple(b.thread, b.start_ns, a.end_ns);
  });
  std::vector<double> self(calls.size());
  std::vector<size_t> open;  // the calls that enclose the current call
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

// User ranges are excluded, although the profiler mirrors them to the device.
std::vector<KernelUse> device_times(const ProfilerResult& result) {
  const std::set<ActivityType> types = {ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY,
                                        ActivityType::GPU_MEMSET};
  std::map<std::string, KernelUse> by_name;
  for (const KinetoEvent& event : result.events())
    if (types.contains(type_of(event)))
      add_use(by_name, event.name(), static_cast<double>(event.durationNs()) * kSecondsPerNanosecond);
  return longest_first(by_name);
}

std::vector<KernelUse> operator_times(const ProfilerResult& result) {
  return times_on_host(result, {ActivityType::CPU_OP});
}

std::vector<KernelUse> host_times(const ProfilerResult& result) {
  return times_on_host(result, {ActivityType::CPU_OP, ActivityType::USER_ANNOTATION, ActivityType::CUDA_RUNTIME,
                                ActivityType::CUDA_DRIVER});
}

namespace {

// Returns "at::native::vectorized_elementwise_kernel" for a kernel's whole signature.
std::string short_name(std::string name) {
  constexpr size_t kWidth = 60;
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  if (name.starts_with("void ")) name.erase(0, 5);
  for (size_t at = name.find(kUnnamed); at != std::string::npos; at = name.find(kUnnamed))
    name.erase(at, kUnnamed.size());
  name.resize(std::min(name.find_first_of("<(", 1), name.size()));
  return on_one_line(name.size() <= kWidth ? name : name.substr(0, kWidth - 3) + "...");
}

// Kernels that differ only in the arguments of their template are one row.
std::vector<KernelUse> by_short_name(const std::vector<KernelUse>& uses) {
  std::map<std::string, KernelUse> by_name;
  for (const KernelUse& use : uses) {
    KernelUse& all = by_name[short_name(use.name)];
    all.name = short_name(use.name);
    all.count += use.count;
    all.seconds += use.seconds;
  }
  return longest_first(by_name);
}

std::string line_of(const std::string& name, double seconds, double total, double count, int64_t num_steps) {
  return fmt::format("{:>7.1f} %  {:>9.4f}  {:>8.4g}  {}", 100 * seconds / total,
                     1e3 * seconds / static_cast<double>(num_steps), count / static_cast<double>(num_steps), name);
}

void add_side(std::vector<std::string>& lines, const std::vector<KernelUse>& whole_names, std::string_view side,
              int64_t num_steps) {
  constexpr size_t kMostRows = 10;
  constexpr double kLeastPart = 0.01;
  const std::vector<KernelUse> uses = by_short_name(whole_names);
  double total = 0;
  for (const KernelUse& use : uses) total += use.seconds;
  if (total <= 0) return;
  lines.push_back(fmt::format("{:>9}  {:>9}  {:>8}  {}", "share", "ms a step", "a step", side));
  KernelUse others;
  for (size_t i = 0; i < uses.size(); ++i) {
    const auto& [name, count, seconds] = uses[i];
    if (i < kMostRows && seconds >= kLeastPart * total) {
      lines.push_back(line_of(name, seconds, total, static_cast<double>(count), num_steps));
    } else {
      others.count += count;
      others.seconds += seconds;
    }
  }
  if (others.count > 0)
    lines.push_back(line_of("others", others.seconds, total, static_cast<double>(others.count), num_steps));
}

}  // namespace

std::vector<std::string> profile_lines(const std::vector<KernelUse>& device, const std::vector<KernelUse>& host,
                                       int64_t num_steps) {
  std::vector<std::string> lines;
  add_side(lines, device, "on the GPU", num_steps);
  add_side(lines, host, "on the host", num_steps);
  if (!lines.empty()) lines.insert(lines.begin(), "profile   the time of operations, without those that they call");
  return lines;
}

}  // namespace rnnlab
