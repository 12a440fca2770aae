#include "results/cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/temporary_folder.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;
using testing::write_text;

// A root of a file system with what the kernel shows of cgroups there.
class Cgroups : public ::testing::Test {
 protected:
  void be_in(const std::string& lines) const { write_text(root_.path() / "proc/self/cgroup", lines); }
  void make(const std::string& folder) const { std::filesystem::create_directories(group(folder)); }
  std::filesystem::path group(const std::string& folder) const { return root_.path() / "sys/fs/cgroup" / folder; }
  const std::filesystem::path& root() const { return root_.path(); }

 private:
  TemporaryFolder root_;
};

TEST_F(Cgroups, OfVersion2AreTheProcesssOwnAndThoseAroundIt) {
  be_in("0::/user.slice/run.scope\n");
  make("user.slice/run.scope");
  EXPECT_THAT(cgroup_v2_folders(root()),
              ElementsAre(group("user.slice/run.scope"), group("user.slice"), root() / "sys/fs/cgroup"));
  EXPECT_THAT(cgroup_v1_folders("memory", root()), IsEmpty());
}

TEST_F(Cgroups, OfVersion1AreThoseOfTheController) {
  be_in("5:cpu,cpuacct:/batch\n4:memory:/batch/job\n");
  make("memory/batch/job");
  make("cpu/batch");
  EXPECT_THAT(cgroup_v1_folders("memory", root()),
              ElementsAre(group("memory/batch/job"), group("memory/batch"), group("memory")));
  EXPECT_THAT(cgroup_v1_folders("cpu", root()), ElementsAre(group("cpu/batch"), group("cpu")));
  EXPECT_THAT(cgroup_v2_folders(root()), IsEmpty());
}

TEST_F(Cgroups, OfBothVersionsLieBesideEachOther) {
  be_in("4:memory:/batch\n0::/batch\n");
  make("memory/batch");
  make("unified/batch");
  EXPECT_THAT(cgroup_v2_folders(root()), ElementsAre(group("unified/batch"), group("unified")));
}

// The path is the host's, while the container sees its own part of the tree at the top.
TEST_F(Cgroups, OfAContainerAreWhatItSees) {
  be_in("4:memory:/docker/3f2a\n");
  make("memory");
  EXPECT_THAT(cgroup_v1_folders("memory", root()), ElementsAre(group("memory")));
  be_in("0::/../3f2a\n");
  make("unified");
  EXPECT_THAT(cgroup_v2_folders(root()), ElementsAre(group("unified")));
}

TEST_F(Cgroups, AreMissingWithoutTheKernelsFiles) {
  EXPECT_THAT(cgroup_v2_folders(root()), IsEmpty());
  be_in("no line of the kernel\n");
  EXPECT_THAT(cgroup_v2_folders(root()), IsEmpty());
}

TEST_F(Cgroups, HaveNumbersOrNone) {
  write_text(group("memory.max"), "4096\n");
  write_text(group("memory.swap.max"), "max\n");
  EXPECT_EQ(cgroup_number(group("memory.max")), 4096);
  EXPECT_EQ(cgroup_number(group("memory.swap.max")), std::nullopt);
  EXPECT_EQ(cgroup_number(group("missing")), std::nullopt);
}

}  // namespace
}  // namespace rnnlab
