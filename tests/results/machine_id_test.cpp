#include "results/machine_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr const char* kId = "3d1219c7c4c5404aaa1f6d2a48adfda4";

TEST(MachineId, IsAHashThatDoesNotHoldTheSystemsOwn) {
  const TemporaryFolder root;
  write_text(root.path() / "etc/machine-id", std::string(kId) + "\n");
  const std::string id = machine_id(root.path());
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(std::string(kId), Not(HasSubstr(id)));
  EXPECT_EQ(machine_id(root.path()), id);
}

TEST(MachineId, TellsMachinesApart) {
  const TemporaryFolder one, other, same_image;
  write_text(one.path() / "etc/machine-id", kId);
  write_text(other.path() / "etc/machine-id", "b");
  write_text(same_image.path() / "etc/machine-id", kId);
  write_text(same_image.path() / "sys/class/dmi/id/product_name", "A Server");
  EXPECT_NE(machine_id(one.path()), machine_id(other.path()));
  EXPECT_NE(machine_id(one.path()), machine_id(same_image.path()));
}

TEST(MachineId, DoesNotDependOnWhoAsks) {
  const TemporaryFolder user, root;
  for (const auto* folder : {&user, &root}) write_text(folder->path() / "etc/machine-id", kId);
  write_text(root.path() / "sys/class/dmi/id/product_uuid", "what root alone may read");
  EXPECT_EQ(machine_id(user.path()), machine_id(root.path()));
}

TEST(MachineId, IsNothingWhereTheSystemHasNone) {
  const TemporaryFolder root;
  EXPECT_EQ(machine_id(root.path()), "");
  write_text(root.path() / "etc/machine-id", "uninitialized\n");
  EXPECT_EQ(machine_id(root.path()), "");
}

}  // namespace
}  // namespace rnnlab::testing
