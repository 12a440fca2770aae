#include "results/cgroups.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMounts = "sys/fs/cgroup";

// A line of /proc/self/cgroup: "4:cpu,cpuacct:/docker/3f2a", in version 2 "0::/user.slice/a.scope".
struct Membership {
  std::string controllers;
  std::string path;
};

std::vector<Membership> memberships(const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  std::vector<Membership> found;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    found.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return found;
}

// From the group's folder up to `mount`, those that exist. A path from outside of what the process sees, "/../a",
// leaves `mount` alone.
std::vector<fs::path> folders_up_to(const fs::path& mount, const std::string& path) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  fs::path group = fs::path(path).relative_path();
  if (std::ranges::find(group, fs::path("..")) != group.end()) group.clear();
  for (; !group.empty(); group = group.parent_path())
    if (fs::is_directory(mount / group, ignored)) folders.push_back(mount / group);
  if (fs::is_directory(mount, ignored)) folders.push_back(mount);
  return folders;
}

// Version 1 mounts each controller under its name; several in one folder have a link for each.
fs::path mount_of(std::string_view controller, const fs::path& root) { return root / kMounts / controller; }

// Version 2 alone is mounted at the top, and below it where version 1 has the controllers.
fs::path unified_mount(const fs::path& root) {
  std::error_code ignored;
  const fs::path below = root / kMounts / "unified";
  return fs::is_directory(below, ignored) ? below : root / kMounts;
}

}  // namespace

std::vector<fs::path> cgroup_v2_folders(const fs::path& root) {
  for (const Membership& one : memberships(root))
    if (one.controllers.empty()) return folders_up_to(unified_mount(root), one.path);
  return {};
}

std::vector<fs::path> cgroup_v1_folders(std::string_view controller, const fs::path& root) {
  for (const Membership& one : memberships(root)) {
    const std::vector<std::string> controllers = split(one.controllers, ',');
    if (std::ranges::find(controllers, controller) != controllers.end())
      return folders_up_to(mount_of(controller, root), one.path);
  }
  return {};
}

std::optional<int64_t> cgroup_number(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return parse_int64(word);
}

}  // namespace rnnlab
