#include "results/cpu_limits.h"

#include <gtest/gtest.h>

#include "results/machine.h"
#include "results/temporary_folder.h"

namespace rnnlab {
namespace {

using testing::TemporaryFolder;
using testing::write_text;

class CpuLimits : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const { write_text(root_.path() / file, text); }
  int64_t allowed() const { return allowed_cpus(root_.path()); }

  const int64_t usable_ = static_cast<int64_t>(usable_cpus().size());
  TemporaryFolder root_;
};

TEST_F(CpuLimits, AreTheCpusThatTheProcessMayRunOn) { EXPECT_EQ(allowed(), usable_); }

TEST_F(CpuLimits, AreNoMoreThanAQuotaLastsFor) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(allowed(), 1) << "of the group around this one";
}

TEST_F(CpuLimits, AreAtLeastOne) {
  write("proc/self/cgroup", "0::/a\n");
  write("sys/fs/cgroup/a/cpu.max", "20000 100000\n");
  EXPECT_EQ(allowed(), 1);
}

TEST_F(CpuLimits, AreReadInVersion1Too) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/a\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(allowed(), 1) << "rounded down";
}

TEST_F(CpuLimits, AreNotLoweredByWhatIsNoQuota) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/a\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/a/cpu.max", "no numbers\n");
  EXPECT_EQ(allowed(), usable_);
}

TEST_F(CpuLimits, TellTheQuotaAsItIs) {
  EXPECT_EQ(cpu_quota(root_.path()), std::nullopt);
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "40000 100000\n");
  EXPECT_EQ(cpu_quota(root_.path()), 0.4) << "the least of the groups around this process";
}

}  // namespace
}  // namespace rnnlab
