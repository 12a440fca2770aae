// The control groups (cgroups) that this process is in, as folders of files with their limits: containers, batch
// systems and systemd limit memory and CPUs there. Reads version 2, version 1 and both side by side. A process that
// sees only its own part of the tree, as in a container, gets that part. Without cgroups there are no folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace rnnlab {

// The process's own group first, then those around it up to the root: each of them limits it. `root` is the root of the
// file system, another folder in tests.
std::vector<std::filesystem::path> cgroup_v2_folders(const std::filesystem::path& root = "/");

// The same for a controller of version 1, such as "memory" or "cpu".
std::vector<std::filesystem::path> cgroup_v1_folders(std::string_view controller,
                                                     const std::filesystem::path& root = "/");

// The number in a file such as memory.max. Nothing where the file is missing or says "max".
std::optional<int64_t> cgroup_number(const std::filesystem::path& file);

}  // namespace rnnlab
