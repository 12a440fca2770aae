// SPDX-License-Identifier: Apache-2.0
#include "results/run_folder.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"

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

TEST(CreateRunFolder, PointsLatestToTheNewestRun) {
  const TemporaryFolder folder;
  create_run_folder(folder.path(), kLabel);
  const fs::path newest = create_run_folder(folder.path(), kLabel);
  const fs::path link = folder.path() / "rows" / kLatestLink;
  EXPECT_EQ(fs::read_symlink(link), newest.filename()) << "relative, so that the folder can be moved";
  fs::remove_all(newest);
  const fs::path next = create_run_folder(folder.path(), kLabel);
  EXPECT_EQ(fs::canonical(link), fs::canonical(next)) << "also in place of a link whose run was removed";
}

TEST(CreateRunFolder, LeavesAFolderNamedLatestAlone) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "rows" / kLatestLink);
  create_run_folder(folder.path(), kLabel);
  EXPECT_FALSE(fs::is_symlink(folder.path() / "rows" / kLatestLink));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / "rows"), {}), 2);
}

TEST(RunFoldersIn, AreSortedByStartAndCountNoRunTwice) {
  const TemporaryFolder folder;
  EXPECT_TRUE(run_folders_in(folder.path()).empty());
  RunLabel later = kLabel;
  later.start += 1;
  later.device = "cpu";
  const fs::path newest = create_run_folder(folder.path(), later);
  const fs::path second = create_run_folder(folder.path(), kLabel);
  const fs::path first = create_run_folder(folder.path(), {"rows", "cuda:1", "blocked", kLabel.start - 60});
  const fs::path renamed = folder.path() / "rows/best so far";
  for (const fs::path& run : {newest, second, first, renamed}) write_text(run / kConfigFile, "name: rows\n");
  fs::create_directories(folder.path() / "rows/notes");
  EXPECT_EQ(run_folders_in(folder.path() / "rows"), (std::vector<fs::path>{renamed, first, second, newest}));
}

TEST(RunFoldersIn, KnowTheNewestRunOfOneSecondByTheLink) {
  const TemporaryFolder folder;
  for (int i = 0; i < 11; ++i) write_text(create_run_folder(folder.path(), kLabel) / kConfigFile, "name: rows\n");
  EXPECT_EQ(run_folders_in(folder.path() / "rows").back().filename(), "2026-11-21T02-59-51Z-cuda1-naive-11");
}

TEST(WithoutLatestLink, IsTheRunThatItLeadsTo) {
  const TemporaryFolder folder;
  const fs::path run = create_run_folder(folder.path(), kLabel);
  EXPECT_EQ(without_latest_link(folder.path() / "rows/latest"), run);
  EXPECT_EQ(without_latest_link(folder.path() / "rows/latest/"), run);
  for (const fs::path& path : {run, folder.path() / "rows", fs::path("latest"), fs::path("")})
    EXPECT_EQ(without_latest_link(path), path);
}

TEST(WithoutLatestLink, MayBeWithinAPath) {
  const TemporaryFolder folder;
  const fs::path run = create_run_folder(folder.path(), kLabel);
  EXPECT_EQ(without_latest_link(folder.path() / "rows/latest/checkpoints/step-000012"),
            run / "checkpoints/step-000012");
  fs::create_directories(folder.path() / "own/latest/a");
  EXPECT_EQ(without_latest_link(folder.path() / "own/latest/a"), folder.path() / "own/latest/a") << "not a link";
}

TEST(WithoutLatestLink, IsTheNewestRunThatIsLeft) {
  const TemporaryFolder folder;
  const fs::path older = create_run_folder(folder.path(), {"rows", "cpu", "naive", kLabel.start - 60});
  write_text(older / kConfigFile, "name: rows\n");
  fs::remove_all(create_run_folder(folder.path(), kLabel));
  EXPECT_EQ(without_latest_link(folder.path() / "rows/latest"), older);
  EXPECT_EQ(without_latest_link(folder.path() / "rows/latest/checkpoints"), older / "checkpoints");
  EXPECT_EQ(dangling_latest(folder.path() / "rows/latest/checkpoints").value().left, older);
  EXPECT_FALSE(dangling_latest(older));
  fs::remove_all(older);
  EXPECT_EQ(without_latest_link(folder.path() / "rows/latest"), folder.path() / "rows/latest") << "no run is left";
}

TEST(CreateRunFolder, SaysThatAFileIsInTheWay) {
  const TemporaryFolder folder;
  write_text(folder.path() / "rows", "");
  expect_error(ExitCode::kDevice, [&] { create_run_folder(folder.path(), kLabel); });
}

TEST(CreateRunFolder, SaysThatADanglingLinkIsInTheWay) {
  const TemporaryFolder folder;
  fs::create_symlink("/no/such/place", folder.path() / "runs");
  expect_error(ExitCode::kDevice, [&] { create_run_folder(folder.path() / "runs", kLabel); });
}

TEST(CreateRunFolder, StepsAsideForAFileOrLinkOfItsOwnName) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "rows");
  fs::create_symlink("/no/such/place", folder.path() / "rows" / run_folder_name(kLabel));
  EXPECT_EQ(create_run_folder(folder.path(), kLabel).filename(), "2026-11-21T02-59-51Z-cuda1-naive-2");
}

TEST(CreateRunFolder, SaysThatThePlaceCannotBeWritten) {
  // Nobody can create a folder in /proc, not even root.
  expect_error(ExitCode::kDevice, [] { create_run_folder("/proc/runs", kLabel); });
}

TEST(CreateRunFolder, RefusesNamesThatAreNoFolders) {
  const TemporaryFolder folder;
  for (const auto& [name, shown] : std::vector<std::pair<std::string, std::string>>{
           {"", "''"}, {"..", "'..'"}, {"a/b", "'a/b'"}, {"a\nb", "'a\\x0ab'"}}) {
    RunLabel label = kLabel;
    label.name = name;
    expect_error(ExitCode::kUsage, [&] { create_run_folder(folder.path(), label); });
  }
}

}  // namespace
namespace {

std::map<std::string, std::string> values_of(const std::string& yaml) {
  const TemporaryFolder folder;
  write_text(folder.path() / "config.yaml", yaml);
  return config_values(folder.path() / "config.yaml");
}

TEST(ConfigValues, AreDottedKeysWithTheirText) {
  const auto values = values_of(
      "# an experiment\n"
      "name: rows  # a comment\n"
      "model:  # what is trained\n"
      "  hidden_size: 128\n"
      "  head:\n"
      "    sizes: [64, 32]\n"
      "  # activation:  # none by default\n"
      "  dropout: 0\n"
      "data:\n"
      "  path: \"a # b: c\"\n"
      "  limit: null\n"
      "  id: []\n"
      "seed: 1\n");
  EXPECT_EQ(values, (std::map<std::string, std::string>{{"name", "rows"},
                                                        {"model.hidden_size", "128"},
                                                        {"model.head.sizes", "[64, 32]"},
                                                        {"model.dropout", "0"},
                                                        {"data.path", "\"a # b: c\""},
                                                        {"seed", "1"}}));
}

TEST(ConfigValues, OfADocumentInMemoryAreTheSame) {
  const std::string yaml = "name: rows\nmodel: {hidden_size: 8}\n";
  config::Findings findings;
  EXPECT_EQ(config_values(config::Document::from_text(yaml, "config.yaml", findings)), values_of(yaml));
  EXPECT_TRUE(findings.empty());
}

TEST(ConfigValues, ShowPathsWithoutTheirFolders) {
  EXPECT_EQ(setting_without_folders("/srv/jane/x.csv"), "x.csv");
  EXPECT_EQ(setting_without_folders("\"/srv/jane doe/my: x.csv\""), "\"my: x.csv\"");
  EXPECT_EQ(setting_without_folders("../jane/mnist/"), "mnist");
  EXPECT_EQ(setting_without_folders("[speed in m/s, /srv/jane/x]"), "[speed in m/s, x]");
  for (const char* value : {"128", "/", "x.csv", "\"a # b: c\"", ""}) EXPECT_EQ(setting_without_folders(value), value);
}

TEST(ConfigValues, OfADamagedFileAreAnError) {
  const TemporaryFolder folder;
  write_text(folder.path() / "config.yaml", "name: rows\nmodel: {cell: lst");
  expect_error(ExitCode::kData, [&] { config_values(folder.path() / "config.yaml"); });
  expect_error(ExitCode::kData, folder.name("none.yaml") + ": no such file",
               [&] { config_values(folder.path() / "none.yaml"); });
}

}  // namespace
}  // namespace rnnlab::testing
