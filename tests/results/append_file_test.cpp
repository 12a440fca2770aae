#include "results/append_file.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "results/expect_error.h"
#include "results/faults.h"
#include "results/small_disk.h"
#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

TEST(AppendFile, GoesOnAtTheEnd) {
  const TemporaryFolder folder;
  AppendFile(folder.path() / "a").append("one\n");
  AppendFile again(folder.path() / "a");
  EXPECT_FALSE(again.is_empty());
  again.append("two\n");
  again.sync();
  EXPECT_EQ(read_text(folder.path() / "a"), "one\ntwo\n");
}

TEST(AppendFile, WritesAPieceInOneCall) {
  const TemporaryFolder folder;
  AppendFile file(folder.path() / "a");
  arm_fault(2, EIO);
  file.append(std::string(100'000, 'x') + "\n");
  EXPECT_FALSE(disarm_fault());
}

TEST(AppendFile, TakesBackAPieceThatDoesNotFit) {
  const TemporaryFolder folder;
  AppendFile file(folder.path() / "a");
  file.append("whole\n");
  arm_fault(1, ENOSPC, FaultKind::kShortWrite);
  EXPECT_THROW(file.append("never here\n"), UserError);
  EXPECT_TRUE(disarm_fault());
  EXPECT_EQ(read_text(folder.path() / "a"), "whole\n");
}

TEST(AppendFile, GoesOnAfterAnInterruption) {
  const TemporaryFolder folder;
  AppendFile file(folder.path() / "a");
  arm_fault(1, EINTR);
  file.append("whole\n");
  EXPECT_TRUE(disarm_fault());
  EXPECT_EQ(read_text(folder.path() / "a"), "whole\n");
}

TEST(AppendFile, EndsInAWholeRowOnAFullDisk) {
  const SmallDisk disk;
  AppendFile file(disk.path() / "rows");
  const std::string row(999, 'x');
  expect_error(ExitCode::kDevice, (disk.path() / "rows").string() + ": cannot write: " + disk.reason(), [&] {
    for (int i = 0; i < 100; ++i) file.append(row + "\n");
  });
  EXPECT_EQ(std::filesystem::file_size(disk.path() / "rows"), 16000u);
}

TEST(AppendFile, SaysThatTheDiskIsFull) {
  AppendFile file("/dev/full");
  expect_error(ExitCode::kDevice,
               "/dev/full: cannot write: No space left on device; free some space or choose another folder with --out",
               [&] { file.append("row\n"); });
}

TEST(AppendFile, SaysWhyItCannotOpen) {
  expect_error(ExitCode::kDevice, "/no/such/folder/a: cannot open for writing: No such file or directory",
               [] { AppendFile file("/no/such/folder/a"); });
}

}  // namespace
}  // namespace rnnlab::testing
