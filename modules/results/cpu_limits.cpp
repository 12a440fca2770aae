#include "results/cpu_limits.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/numbers.h"
#include "results/cgroups.h"
#include "results/machine.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

void apply_quota(std::optional<int64_t> quota, std::optional<int64_t> period, int64_t& cpus) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return;  // "max", and -1 in version 1, are no limit
  cpus = std::min(cpus, std::max<int64_t>(1, *quota / *period));
}

// Version 2 has both numbers in one file: "150000 100000" or "max 100000".
void apply_v2(const fs::path& folder, int64_t& cpus) {
  std::ifstream file(folder / "cpu.max");
  std::string quota, period;
  file >> quota >> period;
  apply_quota(parse_int64(quota), parse_int64(period), cpus);
}

}  // namespace

int64_t allowed_cpus(const fs::path& root) {
  int64_t cpus = std::max<int64_t>(1, static_cast<int64_t>(usable_cpus().size()));
  for (const fs::path& folder : cgroup_v2_folders(root)) apply_v2(folder, cpus);
  for (const fs::path& folder : cgroup_v1_folders("cpu", root))
    apply_quota(cgroup_number(folder / "cpu.cfs_quota_us"), cgroup_number(folder / "cpu.cfs_period_us"), cpus);
  return cpus;
}

}  // namespace rnnlab
