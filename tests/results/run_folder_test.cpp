#include "results/run_folder.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "results/expect_error.h"
#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

const RunLabel kLabel = {.name = "rows", .device = "cuda:1", .layer = "naive", .start = 1795229991};

TEST(RunFolderName, HoldsTheStartInUtcDeviceAndLayer) {
  EXPECT_EQ(run_folder_name(kLabel), "2026-11-21T02-59-51Z-cuda1-naive");
}

TEST(SharedRunName, LeavesOutTheFoldersAbove) {
  EXPECT_EQ(shared_run_name("/home/jane/runs/rows/2026-cpu-naive", "rows"), "rows/2026-cpu-naive");
  EXPECT_EQ(shared_run_name("rows/2026-cpu-naive/", "rows"), "rows/2026-cpu-naive");
  EXPECT_EQ(shared_run_name("/home/jane/best run", "rows"), "best run");
  EXPECT_EQ(shared_run_name("/home/jane", "rows"), "~");
  EXPECT_EQ(shared_run_name(".", "rows"), fs::current_path().filename());
}

TEST(CreateRunFolder, MakesItWithItsParents) {
  const TemporaryFolder folder;
  const fs::path run = create_run_folder(folder.path() / "deep" / "runs", kLabel);
  EXPECT_EQ(run, folder.path() / "deep/runs/rows/2026-11-21T02-59-51Z-cuda1-naive");
  EXPECT_TRUE(fs::is_directory(run));
}

TEST(CreateRunFolder, NumbersRunsOfOneSecond) {
  const TemporaryFolder folder;
  create_run_folder(folder.path(), kLabel);
  EXPECT_EQ(create_run_folder(folder.path(), kLabel).filename(), "2026-11-21T02-59-51Z-cuda1-naive-2");
  EXPECT_EQ(create_run_folder(folder.path(), kLabel).filename(), "2026-11-21T02-59-51Z-cuda1-naive-3");
}

TEST(CreateRunFolder, NeverGivesOneFolderToTwoRuns) {
  const TemporaryFolder folder;
  std::vector<fs::path> made(8);
  {
    std::vector<std::jthread> runs;
    for (fs::path& path : made) runs.emplace_back([&] { path = create_run_folder(folder.path(), kLabel); });
  }
  EXPECT_EQ(std::set<fs::path>(made.begin(), made.end()).size(), made.size());
}

TEST(CreateRunFolder, SaysThatAFileIsInTheWay) {
  const TemporaryFolder folder;
  write_text(folder.path() / "rows", "");
  expect_error(ExitCode::kDevice,
               folder.name("rows") +
                   ": cannot create the run folder: there is a file of this name; choose another place with --out",
               [&] { create_run_folder(folder.path(), kLabel); });
}

TEST(CreateRunFolder, SaysThatADanglingLinkIsInTheWay) {
  const TemporaryFolder folder;
  fs::create_symlink("/no/such/place", folder.path() / "runs");
  expect_error(ExitCode::kDevice,
               folder.name("runs") +
                   ": cannot create the run folder: it is a symbolic link to '/no/such/place', which is not a folder; "
                   "choose another place with --out",
               [&] { create_run_folder(folder.path() / "runs", kLabel); });
}

TEST(CreateRunFolder, StepsAsideForAFileOrLinkOfItsOwnName) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "rows");
  fs::create_symlink("/no/such/place", folder.path() / "rows" / run_folder_name(kLabel));
  EXPECT_EQ(create_run_folder(folder.path(), kLabel).filename(), "2026-11-21T02-59-51Z-cuda1-naive-2");
}

TEST(CreateRunFolder, SaysThatThePlaceCannotBeWritten) {
  // /proc takes no new folder, not even from root.
  expect_error(ExitCode::kDevice,
               "/proc/runs: cannot create the run folder: No such file or directory; choose another place with --out",
               [] { create_run_folder("/proc/runs", kLabel); });
}

TEST(CreateRunFolder, RefusesNamesThatAreNoFolders) {
  const TemporaryFolder folder;
  for (const auto& [name, shown] : std::vector<std::pair<std::string, std::string>>{
           {"", "''"}, {"..", "'..'"}, {"a/b", "'a/b'"}, {"a\nb", "'a\\x0ab'"}}) {
    RunLabel label = kLabel;
    label.name = name;
    expect_error(
        ExitCode::kUsage,
        "the experiment's name " + shown + " cannot be part of a folder's name: use letters, digits, '_', '-' or '.'",
        [&] { create_run_folder(folder.path(), label); });
  }
}

}  // namespace
}  // namespace rnnlab::testing
