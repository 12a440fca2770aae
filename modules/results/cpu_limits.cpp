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

using Quota = std::optional<double>;

void apply(std::optional<int64_t> quota, std::optional<int64_t> period, Quota& least) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return;  // "max", and -1 in version 1, are no limit
  const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
  least = std::min(least.value_or(cpus), cpus);
}

// Version 2 has both numbers in one file: "150000 100000" or "max 100000".
void apply_v2(const fs::path& folder, Quota& least) {
  std::ifstream file(folder / "cpu.max");
  std::string quota, period;
  file >> quota >> period;
  apply(parse_int64(quota), parse_int64(period), least);
}

}  // namespace

Quota cpu_quota(const fs::path& root) {
  Quota least;
  for (const fs::path& folder : cgroup_v2_folders(root)) apply_v2(folder, least);
  for (const fs::path& folder : cgroup_v1_folders("cpu", root))
    apply(cgroup_number(folder / "cpu.cfs_quota_us"), cgroup_number(folder / "cpu.cfs_period_us"), least);
  return least;
}

int64_t allowed_cpus(const fs::path& root) {
  const int64_t cpus = std::max<int64_t>(1, static_cast<int64_t>(usable_cpus().size()));
  const Quota quota = cpu_quota(root);
  return quota ? std::clamp<int64_t>(static_cast<int64_t>(*quota), 1, cpus) : cpus;
}

}  // namespace rnnlab
