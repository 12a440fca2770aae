#include "results/memory_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "results/expect_error.h"
#include "results/temporary_folder.h"

namespace rnnlab {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;
using testing::write_text;

constexpr int64_t kGiB = int64_t{1} << 30;

// A machine of 8 GiB and 1 GiB of swap, of which 3 GiB are free.
class MemoryLimitsOfAMachine : public ::testing::Test {
 protected:
  MemoryLimitsOfAMachine() {
    write_text(root_.path() / "proc/meminfo",
               "MemTotal:        8388608 kB\nMemFree:  77 kB\nMemAvailable:    3145728 kB\nHugePages_Total:       0\n"
               "SwapTotal:       1048576 kB\n");
  }

  void write(const std::string& file, const std::string& text) const { write_text(root_.path() / file, text); }
  std::string group(const std::string& folder) const { return (root_.path() / "sys/fs/cgroup" / folder).string(); }

  std::optional<int64_t> limit_of(const std::string& name) const {
    for (const MemoryLimit& limit : memory_limits(root_.path()).hard)
      if (limit.name == name) return limit.bytes;
    return std::nullopt;
  }

  TemporaryFolder root_;
};

TEST_F(MemoryLimitsOfAMachine, AreItsMemoryAndSwap) {
  EXPECT_EQ(limit_of("the memory of this machine"), 9 * kGiB);
  EXPECT_EQ(memory_limits(root_.path()).available, 3 * kGiB);
}

TEST_F(MemoryLimitsOfAMachine, AreThoseOfEveryCgroupAroundTheProcess) {
  write("proc/self/cgroup", "0::/batch/job\n");
  write("sys/fs/cgroup/batch/job/memory.max", "max\n");
  write("sys/fs/cgroup/batch/memory.max", "2147483648\n");
  EXPECT_EQ(limit_of("memory.max in " + group("batch")), 3 * kGiB) << "with all of the swap";
  EXPECT_EQ(limit_of("memory.max in " + group("batch/job")), std::nullopt);
  write("sys/fs/cgroup/batch/memory.swap.max", "0\n");
  EXPECT_EQ(limit_of("memory.max in " + group("batch")), 2 * kGiB);
}

TEST_F(MemoryLimitsOfAMachine, AreThoseOfVersion1) {
  write("proc/self/cgroup", "4:memory:/batch\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(limit_of("memory.limit_in_bytes in " + group("memory/batch")), 3 * kGiB);
  EXPECT_EQ(limit_of("memory.limit_in_bytes in " + group("memory")), std::numeric_limits<int64_t>::max());
  write("sys/fs/cgroup/memory/batch/memory.memsw.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(limit_of("memory.limit_in_bytes in " + group("memory/batch")), 2 * kGiB);
}

TEST_F(MemoryLimitsOfAMachine, AreTheUlimits) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit wanted{rlim_t{1} << 45, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &wanted), 0);
  EXPECT_EQ(limit_of("ulimit -d"), int64_t{1} << 45);
  ::setrlimit(RLIMIT_DATA, &before);
}

TEST(MemoryLimits, AreEmptyWhereNothingCanBeRead) {
  const TemporaryFolder nothing;
  EXPECT_FALSE(memory_limits(nothing.path()).available);
}

TEST(RequireMemory, RefusesWhatIsBeyondTheSmallestLimit) {
  const MemoryLimits limits{.hard = {{8 * kGiB, "the memory of this machine"}, {4 * kGiB, "ulimit -v"}},
                            .available = 2 * kGiB};
  EXPECT_NO_THROW(require_memory(4 * kGiB, "x: this needs", "use less", limits));
  expect_error(ExitCode::kDevice, "x: this needs at least 5.00 GiB of memory, and ulimit -v allows 4.00 GiB: use less",
               [&] { require_memory(5 * kGiB, "x: this needs", "use less", limits); });
  EXPECT_NO_THROW(require_memory(5 * kGiB, "x: this needs", "use less", {}));
}

TEST(MemoryWarning, IsOfWhatIsFree) {
  const MemoryLimits limits{.hard = {}, .available = 2 * kGiB};
  EXPECT_EQ(memory_warning(2 * kGiB, "x: this needs", "use less", limits), std::nullopt);
  EXPECT_EQ(memory_warning(3 * kGiB, "x: this needs", "use less", limits),
            "x: this needs at least 3.00 GiB of memory, and 2.00 GiB are free: use less");
}

}  // namespace
}  // namespace rnnlab
