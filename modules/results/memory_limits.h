// How much memory this process may take, as the operating system says it. A hard limit is one that ends the process or
// makes an allocation fail: ulimit -v and -d, the cgroups around it, and the memory of the machine, each with the swap
// that it allows. Left out are GPUs, and what the process and others have taken already: a need beyond a hard limit can
// never be met, while a need below it may still fail. What cannot be read is left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

struct MemoryLimit {
  int64_t bytes = 0;
  std::string name;  // "ulimit -v", "memory.max in /sys/fs/cgroup/user.slice", "the memory of this machine"
};

struct MemoryLimits {
  std::vector<MemoryLimit> hard;
  std::optional<int64_t> available;  // bytes that the kernel would give now without paging out
};

// `root` is the root of the file system, another folder in tests; ulimits are the process's own either way.
MemoryLimits memory_limits(const std::filesystem::path& root = "/");

// UserError kDevice, "<subject> at least 18.6 GiB of memory, and ulimit -v allows 4.00 GiB: <advice>", where `bytes`
// are beyond a hard limit; it names the smallest.
void require_memory(int64_t bytes, std::string_view subject, std::string_view advice, const MemoryLimits& limits);

// "<subject> at least 18.6 GiB of memory, and 4.00 GiB are free: <advice>", where that is so.
std::optional<std::string> memory_warning(int64_t bytes, std::string_view subject, std::string_view advice,
                                          const MemoryLimits& limits);

}  // namespace rnnlab
