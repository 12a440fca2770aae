// SPDX-License-Identifier: Apache-2.0
#include "base/system/locks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

TEST(FolderLock, IsHeldByOneAtATime) {
  const TemporaryFolder folder;
  std::optional<FolderLock> first(std::in_place, folder.path(), WhenTaken::kRefuse);
  expect_error(ExitCode::kDevice, [&] { FolderLock(folder.path(), WhenTaken::kRefuse); });
  first.reset();
  EXPECT_NO_THROW(FolderLock(folder.path(), WhenTaken::kRefuse));
}

TEST(FolderLock, CanBeAskedForWithoutAChange) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_locked(folder.path()));
  EXPECT_TRUE(fs::is_empty(folder.path()));
  {
    const FolderLock lock(folder.path(), WhenTaken::kRefuse);
    EXPECT_TRUE(is_locked(folder.path()));
  }
  write_text(folder.path() / ".lock", "");  // as a killed process leaves it
  EXPECT_FALSE(is_locked(folder.path()));
  EXPECT_FALSE(is_locked(folder.path() / "missing"));
}

TEST(FolderLock, WaitsForAnotherIfAsked) {
  const TemporaryFolder folder;
  std::optional<FolderLock> first(std::in_place, folder.path(), WhenTaken::kRefuse);
  std::atomic<bool> is_given_free = false;
  std::thread waiting([&] {
    const FolderLock second(folder.path(), WhenTaken::kWait);
    EXPECT_TRUE(is_given_free);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  is_given_free = true;
  first.reset();
  waiting.join();
}

TEST(FolderLock, EndsWithItsProcessHoweverThatEnds) {
  const TemporaryFolder folder;
  const int process = ::fork();
  if (process == 0) {
    const FolderLock lock(folder.path(), WhenTaken::kRefuse);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(process, nullptr, 0);
  EXPECT_NO_THROW(FolderLock(folder.path(), WhenTaken::kRefuse));
}

TEST(FolderLock, LeavesNothingBehind) {
  const TemporaryFolder folder;
  { const FolderLock lock(folder.path(), WhenTaken::kRefuse); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(FolderLock, IsOnAFolderOnly) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "real");
  fs::create_directory_symlink(folder.path() / "real", folder.path() / "link");
  write_text(folder.path() / "file", "");
  for (const char* name : {"link", "file"})
    expect_error(ExitCode::kDevice, [&] { FolderLock(folder.path() / name, WhenTaken::kRefuse); });
  expect_error(ExitCode::kDevice, [&] { FolderLock(folder.path() / "absent", WhenTaken::kRefuse); });
}

TEST(FileLock, IsHeldByOneAtATimeAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  std::optional<FileLock> first(std::in_place, folder.path() / "sweep.json");
  EXPECT_TRUE(fs::exists(folder.path() / ".sweep.json.lock"));
  expect_error(ExitCode::kDevice, [&] { FileLock(folder.path() / "sweep.json"); });
  first.reset();
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(FileLock, TakesWhatAProcessLeftThatWasKilled) {
  const TemporaryFolder folder;
  const int process = ::fork();
  if (process == 0) {
    const FileLock lock(folder.path() / "sweep.json");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(process, nullptr, 0);
  EXPECT_TRUE(fs::exists(folder.path() / ".sweep.json.lock"));
  { const FileLock lock(folder.path() / "sweep.json"); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(FileLock, LeavesTheFileOfAnotherLock) {
  const TemporaryFolder folder;
  {
    const FileLock first(folder.path() / "sweep.json");
    fs::remove(folder.path() / ".sweep.json.lock");
    write_text(folder.path() / ".sweep.json.lock", "of another process");
  }
  EXPECT_TRUE(fs::exists(folder.path() / ".sweep.json.lock"));
}

TEST(FileLock, FollowsNoLink) {
  const TemporaryFolder folder;
  fs::create_symlink("elsewhere", folder.path() / ".sweep.json.lock");
  expect_error(ExitCode::kDevice, [&] { FileLock(folder.path() / "sweep.json"); });
  EXPECT_FALSE(fs::exists(folder.path() / "elsewhere"));
}

}  // namespace
}  // namespace rnnlab::testing
