// SPDX-License-Identifier: Apache-2.0
// Tests promise R2 of docs/reliability.md: a disk becomes full while a run logs, measures and saves, on a real small
// file system. By default some sizes are tested; with RNNLAB_PAGES_APART=1 every size, page by page, until a whole run
// fits.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <regex>

#include "app/program.h"
#include "reliability/trained_run.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

bool may_mount() {
  return ::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    program_.write("small.yaml", kSmallYaml);
    fs::create_directory(disk());
    if (!may_mount()) GTEST_SKIP() << "needs root and / as a mount point, to mount a small file system";
  }
  void TearDown() override { ::umount2(disk().c_str(), MNT_DETACH); }

  void mount_disk(int64_t pages) const {
    ASSERT_EQ(::mount("none", disk().c_str(), "tmpfs", 0, size_of(pages).c_str()), 0);
  }
  void enlarge_disk() const {
    ASSERT_EQ(::mount("none", disk().c_str(), nullptr, MS_REMOUNT, size_of(10'000).c_str()), 0);
  }

  ProgramResult train() const { return program_.run({"train", "--quiet", "small.yaml", "--out", disk().string()}); }

  // Resumes the run if it has a folder; otherwise trains again.
  TrainedRun finish_training() const {
    const auto run = begun_run_in(disk(), "small");
    if (!run) {
      fs::remove_all(disk() / "small");
      EXPECT_EQ(train().exit_code, 0);
      return read_trained_run(only_run_in(disk(), "small"));
    }
    for (const CheckpointPlace& place : list_checkpoints(*run / kCheckpointsFolder)) verify_checkpoint(place.path);
    program_.run({"train", "--quiet", "--resume", run->string()}, 0);
    return read_trained_run(*run);
  }

  fs::path disk() const { return program_.folder() / "disk"; }

 private:
  static std::string size_of(int64_t pages) { return "size=" + std::to_string(pages * 4) + "k"; }

  Program program_;
};

// Returns the file for which the disk had no space.
std::string full_file(const std::string& errors) {
  std::smatch match;
  const std::regex line(
      "rnnlab: error: [^\n]*/small/[^/]*/?([^ :]*): [^\n]*No space left on device; free some space or "
      "write to another [^\n]*\n");
  if (!std::regex_search(errors, match, line)) return "";
  return std::regex_replace(match[1].str(), std::regex("[0-9]+"), "N");
}

TEST_F(FullDisk, IsAnErrorForEveryFileAndCostsNothingThatWasSaved) {
  mount_disk(10'000);
  ASSERT_EQ(train().exit_code, 0);
  const TrainedRun whole = read_trained_run(only_run_in(disk(), "small"));
  const int64_t step = number_from_environment("RNNLAB_PAGES_APART", 27);
  std::map<std::string, int> num_full;
  for (int64_t pages = 1;; pages += step) {
    SCOPED_TRACE(std::to_string(pages) + " pages");
    ::umount2(disk().c_str(), MNT_DETACH);
    mount_disk(pages);
    const auto result = train();
    if (result.exit_code == 0) break;
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_NE(full_file(result.errors), "") << result.errors;
    EXPECT_EQ(std::regex_replace(result.errors, std::regex("rnnlab: warning: [^\n]*\n"), "").find('\n') + 1,
              std::regex_replace(result.errors, std::regex("rnnlab: warning: [^\n]*\n"), "").size())
        << "one line: " << result.errors;
    ++num_full[full_file(result.errors)];
    enlarge_disk();
    EXPECT_EQ(finish_training(), whole);
  }
  for (const auto& [file, count] : num_full) std::cout << count << " times full at " << file << "\n";
  EXPECT_GE(num_full.size(), 2U);
}

}  // namespace
}  // namespace rnnlab::testing
