#include "results/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "results/expect_error.h"
#include "results/faults.h"
#include "results/small_disk.h"
#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

size_t num_files(const std::filesystem::path& folder) {
  const auto entries = std::filesystem::directory_iterator(folder);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

TEST(WriteFileAtomically, ReplacesTheWholeText) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "a.txt", "a long first text");
  write_file_atomically(folder.path() / "a.txt", "second");
  EXPECT_EQ(read_text(folder.path() / "a.txt"), "second");
  EXPECT_EQ(num_files(folder.path()), 1u);
}

// Fails the first call, then the second, until all succeed.
class EveryFailure : public ::testing::TestWithParam<std::pair<int, FaultKind>> {};

TEST_P(EveryFailure, LeavesAWholeFileAndNothingElse) {
  const auto [error_number, kind] = GetParam();
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.txt";
  int failures = 0;
  for (int call = 1;; ++call) {
    write_text(path, "old");
    arm_fault(call, error_number, kind);
    bool has_thrown = false;
    try {
      write_file_atomically(path, "new text");
    } catch (const UserError& error) {
      has_thrown = true;
      EXPECT_EQ(error.exit_code(), ExitCode::kDevice);
    }
    const bool was_met = disarm_fault();
    EXPECT_EQ(has_thrown, was_met) << "call " << call;
    const std::string text = read_text(path);
    EXPECT_TRUE(text == "old" || text == "new text") << text;
    EXPECT_EQ(num_files(folder.path()), 1u) << "call " << call;
    if (!was_met) break;
    ++failures;
  }
  EXPECT_EQ(failures, 6);  // open, write, fsync, rename, open and fsync of the folder
}

INSTANTIATE_TEST_SUITE_P(Errors, EveryFailure,
                         ::testing::Values(std::pair(ENOSPC, FaultKind::kError), std::pair(EIO, FaultKind::kError)));

TEST(WriteFileAtomically, TakesBackAShortWrite) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.txt";
  write_text(path, "old");
  arm_fault(2, ENOSPC, FaultKind::kShortWrite);
  EXPECT_THROW(write_file_atomically(path, "new text"), UserError);
  EXPECT_TRUE(disarm_fault());
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(num_files(folder.path()), 1u);
}

TEST(WriteFileAtomically, GoesOnAfterAnInterruption) {
  const TemporaryFolder folder;
  for (int call = 1; call <= 6; ++call) {
    arm_fault(call, EINTR);
    write_file_atomically(folder.path() / "a.txt", "whole");
    EXPECT_TRUE(disarm_fault()) << "call " << call;
    EXPECT_EQ(read_text(folder.path() / "a.txt"), "whole");
  }
}

TEST(WriteFileAtomically, PutsPiecesTogether) {
  const TemporaryFolder folder;
  const std::vector<std::string_view> pieces = {"a", "", "bc"};
  write_file_atomically(folder.path() / "a.txt", pieces);
  EXPECT_EQ(read_text(folder.path() / "a.txt"), "abc");
}

TEST(WriteNewFile, RefusesToTouchAnother) {
  const TemporaryFolder folder;
  const std::vector<std::string_view> pieces = {"a", "b"};
  write_new_file(folder.path() / "a.txt", pieces);
  EXPECT_EQ(read_text(folder.path() / "a.txt"), "ab");
  expect_error(ExitCode::kDevice, folder.name("a.txt") + ": cannot open for writing: File exists",
               [&] { write_new_file(folder.path() / "a.txt", pieces); });
}

TEST(WriteFileAtomically, SaysThatTheDiskIsFull) {
  const SmallDisk disk;
  write_file_atomically(disk.path() / "a.txt", "old");
  const std::string temporary = (disk.path() / (".a.txt." + std::to_string(::getpid()) + ".tmp")).string();
  expect_error(ExitCode::kDevice, temporary + ": cannot write: " + disk.reason(),
               [&] { write_file_atomically(disk.path() / "a.txt", std::string(SmallDisk::kBytes + 1, 'x')); });
  EXPECT_EQ(read_text(disk.path() / "a.txt"), "old");
}

TEST(RemoveTemporaryFiles, TakesAwayWhatAKilledProcessLeft) {
  const TemporaryFolder folder;
  for (const char* name : {".a.txt.1.tmp", ".epochs.csv.99999.tmp", "a.txt", ".a.txt.x.tmp", "a.1.tmp", ".hidden"})
    write_text(folder.path() / name, "x");
  remove_temporary_files(folder.path());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{".a.txt.x.tmp", ".hidden", "a.1.tmp", "a.txt"}));
  remove_temporary_files(folder.path() / "absent");
}

TEST(ReadFile, ReadsUpToTheCap) {
  const TemporaryFolder folder;
  write_text(folder.path() / "a.txt", std::string(1000, 'x'));
  EXPECT_EQ(read_file(folder.path() / "a.txt", 1000), std::string(1000, 'x'));
  expect_error(
      ExitCode::kData,
      folder.name("a.txt") + ": larger than 999 B, the most that such a file may hold; restore it, or train again",
      [&] { read_file(folder.path() / "a.txt", 999); });
}

TEST(ReadFile, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  ::mkfifo(folder.name("fifo").c_str(), 0600);
  expect_error(ExitCode::kData, folder.name("fifo") + ": not a regular file; restore it, or train again",
               [&] { read_file(folder.path() / "fifo", 10); });
  expect_error(ExitCode::kData, folder.path().string() + ": not a regular file; restore it, or train again",
               [&] { read_file(folder.path(), 10); });
  expect_error(ExitCode::kData,
               folder.name("absent") + ": cannot read: No such file or directory; restore it, or train again",
               [&] { read_file(folder.path() / "absent", 10); });
}

}  // namespace
}  // namespace rnnlab::testing
