// SPDX-License-Identifier: Apache-2.0
#include "runs/sweep_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <regex>

#include "base/error.h"
#include "base/expect_error.h"
#include "base/system/small_disk.h"
#include "base/system/temporary_folder.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::SmallDisk;
using testing::TemporaryFolder;

const std::vector<SweepEntry> kTwoRuns = {{"layer=naive", "layer: naive\n", std::nullopt},
                                          {"layer=fused", "layer: fused\n", std::nullopt}};

TEST(SweepFile, SaysWhichRunsThereAreAndWhere) {
  const TemporaryFolder out;
  std::optional<SweepFile> sweep(std::in_place, out.path() / "new", kTwoRuns);
  EXPECT_TRUE(std::regex_match(
      sweep->path().filename().string(),
      std::regex("sweep-\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\dZ-" + std::to_string(::getpid()) + "\\.json")))
      << sweep->path();
  sweep->set_folder(1, "/runs/a b\n/../two");
  const fs::path path = sweep->path();
  sweep.reset();
  const SweepFile again(path);
  ASSERT_EQ(again.entries().size(), 2U);
  EXPECT_EQ(again.entries()[0].label, "layer=naive");
  EXPECT_EQ(again.entries()[0].experiment, "layer: naive\n");
  EXPECT_FALSE(again.entries()[0].folder);
  EXPECT_EQ(again.entries()[1].folder, "/runs/two");
  again.remove();
  EXPECT_FALSE(fs::exists(path));
  again.remove();
}

TEST(SweepFile, RemovesAFileThatCannotBeWritten) {
  const SmallDisk disk;
  const std::string long_text(2 * SmallDisk::kBytes, 'x');
  EXPECT_THROW(SweepFile(disk.path(), {{"layer=naive", long_text, std::nullopt}}), UserError);
  for (const auto& entry : fs::directory_iterator(disk.path())) EXPECT_NE(entry.path().extension(), ".json");
}

// Containers have the same process numbers.
TEST(SweepFile, HasANewNameForTheSameSecondAndProcessNumber) {
  const TemporaryFolder out;
  const SweepFile first(out.path(), kTwoRuns), second(out.path(), kTwoRuns), third(out.path(), kTwoRuns);
  EXPECT_NE(first.path(), second.path());
  EXPECT_NE(first.path(), third.path());
  EXPECT_NE(second.path(), third.path());
}

TEST(SweepFile, MayBeNamedWithoutAFolder) {
  const TemporaryFolder out;
  const fs::path before = fs::current_path();
  const fs::path path = SweepFile(out.path(), kTwoRuns).path();
  fs::current_path(out.path());
  SweepFile(path.filename()).set_folder(0, "one");
  fs::current_path(before);
  EXPECT_EQ(SweepFile(path).entries()[0].folder, (out.path() / "one").string());
}

TEST(SweepFile, HasOneProcessAtATime) {
  const TemporaryFolder out;
  const SweepFile sweep(out.path(), kTwoRuns);
  testing::message_of_error(ExitCode::kDevice, [&] { SweepFile(sweep.path()); });
}

TEST(SweepFile, GetsAFolderFromTheProcessOfARun) {
  const TemporaryFolder out;
  SweepFile sweep(out.path(), kTwoRuns);
  SweepFile(sweep.path(), SweepUser::kRunOfCommand).set_folder(1, out.path() / "two");
  EXPECT_EQ(sweep.entries()[1].folder, std::nullopt);
  sweep.reload();
  EXPECT_EQ(sweep.entries()[1].folder, (out.path() / "two").string());
}

TEST(SweepFile, KeepsWhereARunIsFromAnyWorkingFolder) {
  const TemporaryFolder out;
  SweepFile sweep(out.path(), kTwoRuns);
  sweep.set_folder(0, "runs/one");
  EXPECT_EQ(sweep.entries()[0].folder, (fs::current_path() / "runs/one").string());
}

TEST(SweepFile, ThatIsInvalidIsAUsageError) {
  const TemporaryFolder folder;
  testing::write_text(folder.path() / "a.json", "{\"schema_version\": 1, \"runs\": [{\"label\": 3}]}");
  expect_error(ExitCode::kUsage, [&] { SweepFile(folder.path() / "a.json"); });
  testing::write_text(folder.path() / "b.json", "{\"schema_version\": 9}");
  expect_error(ExitCode::kUsage, [&] { SweepFile(folder.path() / "b.json"); });
}

TEST(SweepFile, NeedsAPlace) {
  const TemporaryFolder folder;
  testing::write_text(folder.path() / "file", "");
  expect_error(ExitCode::kDevice, [&] { SweepFile(folder.path() / "file", kTwoRuns); });
}

}  // namespace
}  // namespace rnnlab
