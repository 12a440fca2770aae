// SPDX-License-Identifier: Apache-2.0
// How much memory the process may use: ulimits, cgroups and the machine (machine.h).
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/machine.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

void add_ulimit(std::vector<MemoryLimit>& limits, int resource, const char* name) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  constexpr auto kMost = static_cast<rlim_t>(std::numeric_limits<int64_t>::max());
  limits.push_back({static_cast<int64_t>(std::min(limit.rlim_cur, kMost)), name});
}

// A cgroup's swap limit is added to its memory limit.
void add_v2_limits(std::vector<MemoryLimit>& limits, int64_t swap, const fs::path& root) {
  for (const fs::path& folder : cgroup_v2_folders(root)) {
    const auto limit = cgroup_number(folder / "memory.max");
    if (!limit) continue;
    const int64_t own_swap = std::min(swap, cgroup_number(folder / "memory.swap.max").value_or(swap));
    limits.push_back({saturating_add(*limit, own_swap), "memory.max in " + folder.string(), own_swap});
  }
}

void add_v1_limits(std::vector<MemoryLimit>& limits, int64_t swap, const fs::path& root) {
  for (const fs::path& folder : cgroup_v1_folders("memory", root)) {
    const auto limit = cgroup_number(folder / "memory.limit_in_bytes");
    if (!limit) continue;
    const int64_t with_swap = saturating_add(*limit, swap);
    const int64_t most = cgroup_number(folder / "memory.memsw.limit_in_bytes").value_or(with_swap);
    const int64_t total = std::min(with_swap, most);
    limits.push_back({total, "memory.limit_in_bytes in " + folder.string(), std::max<int64_t>(0, total - *limit)});
  }
}

// The names of the files and counters of a version of cgroups.
struct MemoryFiles {
  const char* limit;
  const char* usage;
  std::vector<std::string> file_pages;  // counters in memory.stat of pages that the kernel frees when it needs them
};

int64_t sum_of_counters(const fs::path& file, const std::vector<std::string>& names) {
  std::ifstream stream(file);
  int64_t sum = 0, value = 0;
  for (std::string name; stream >> name >> value;)
    if (std::ranges::find(names, name) != names.end()) sum = saturating_add(sum, value);
  return sum;
}

// Returns what a group may still use; nothing if it has no limit.
std::optional<int64_t> available_in(const fs::path& folder, const MemoryFiles& files) {
  const auto limit = cgroup_number(folder / files.limit);
  const auto usage = cgroup_number(folder / files.usage);
  if (!limit || !usage) return std::nullopt;
  const int64_t kept = std::max<int64_t>(0, *usage - sum_of_counters(folder / "memory.stat", files.file_pages));
  return std::max<int64_t>(0, *limit - kept);
}

int64_t available_memory(int64_t of_machine, const fs::path& root) {
  const MemoryFiles v2{"memory.max", "memory.current", {"inactive_file", "active_file"}};
  const MemoryFiles v1{"memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
  int64_t least = of_machine;
  for (const fs::path& folder : cgroup_v2_folders(root))
    least = std::min(least, available_in(folder, v2).value_or(least));
  for (const fs::path& folder : cgroup_v1_folders("memory", root))
    least = std::min(least, available_in(folder, v1).value_or(least));
  return least;
}

}  // namespace

MemoryLimits memory_limits(const fs::path& root) {
  MemoryLimits limits;
  const std::string meminfo = system_text(root / "proc/meminfo");
  const int64_t swap = bytes_of_key(meminfo, "SwapTotal").value_or(0);
  add_ulimit(limits.hard, RLIMIT_AS, "ulimit -v");
  add_ulimit(limits.hard, RLIMIT_DATA, "ulimit -d");
  add_v2_limits(limits.hard, swap, root);
  add_v1_limits(limits.hard, swap, root);
  if (const int64_t total = bytes_of_key(meminfo, "MemTotal").value_or(0); total > 0)
    limits.hard.push_back({saturating_add(total, swap), "the memory of this machine", swap});
  if (const int64_t available = bytes_of_key(meminfo, "MemAvailable").value_or(0); available > 0)
    limits.available = available_memory(available, root);
  return limits;
}

void require_memory(int64_t bytes, std::string_view subject, std::string_view advice, const MemoryLimits& limits) {
  const auto smallest = std::ranges::min_element(limits.hard, {}, &MemoryLimit::bytes);
  if (smallest == limits.hard.end() || bytes <= smallest->bytes) return;
  const std::string swap = smallest->swap > 0 ? fmt::format(" with {} of swap", format_bytes(smallest->swap)) : "";
  throw_error(ExitCode::kDevice, "{} at least {} of memory, and {} allows {}{}: {}", subject, format_bytes(bytes),
              smallest->name, format_bytes(smallest->bytes), swap, advice);
}

std::optional<std::string> memory_warning(int64_t bytes, std::string_view subject, std::string_view advice,
                                          const MemoryLimits& limits) {
  if (!limits.available || bytes <= *limits.available) return std::nullopt;
  return fmt::format("{} at least {} of memory, and {} are free: {}", subject, format_bytes(bytes),
                     format_bytes(*limits.available), advice);
}

}  // namespace rnnlab
