// SPDX-License-Identifier: Apache-2.0
#include "base/system/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <tuple>

#include "base/expect_error.h"
#include "base/system/faults.h"
#include "base/system/small_disk.h"
#include "base/system/temporary_folder.h"

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

using Write = void (*)(const std::filesystem::path&, std::string_view);

// Fails the first call, then the second, until all succeed.
class EveryFailure : public ::testing::TestWithParam<std::tuple<int, Write>> {};

TEST_P(EveryFailure, LeavesAWholeFileAndNothingElse) {
  const auto [error_number, write] = GetParam();
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.txt";
  int failures = 0;
  for (int call = 1;; ++call) {
    write_text(path, "old");
    arm_fault(call, error_number);
    bool has_thrown = false;
    try {
      write(path, "new text");
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
                         ::testing::Combine(::testing::Values(ENOSPC, EIO),
                                            ::testing::Values(Write(write_file_atomically), Write(write_output_file))));

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

TEST(WriteFileAtomically, ContinuesAfterAnInterruption) {
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

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  ::lstat(path.c_str(), &status);
  return status.st_mode & 07777;
}

// Files of a run folder: who made the folder must not have anything written elsewhere.
TEST(WriteFileAtomically, ReplacesALink) {
  const TemporaryFolder folder;
  write_text(folder.path() / "elsewhere", "old");
  std::filesystem::create_symlink(folder.path() / "elsewhere", folder.path() / "a.txt");
  write_file_atomically(folder.path() / "a.txt", "new");
  EXPECT_EQ(read_text(folder.path() / "elsewhere"), "old");
  EXPECT_FALSE(std::filesystem::is_symlink(folder.path() / "a.txt"));
}

TEST(WriteOutputFile, KeepsTheModeOfWhatItReplaces) {
  const TemporaryFolder folder;
  for (const mode_t mode : {0600U, 0640U, 0666U, 0777U}) {
    write_text(folder.path() / "a.txt", "old");
    ::chmod(folder.name("a.txt").c_str(), mode);
    write_output_file(folder.path() / "a.txt", "new");
    EXPECT_EQ(mode_of(folder.path() / "a.txt"), mode);
    EXPECT_EQ(read_text(folder.path() / "a.txt"), "new");
  }
}

TEST(WriteOutputFile, MakesANewFileAsTheUmaskSays) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write_output_file(folder.path() / "a.txt", "new");
  ::umask(before);
  EXPECT_EQ(mode_of(folder.path() / "a.txt"), 0640U);
}

TEST(WriteOutputFile, FollowsLinksToTheFileInItsFolder) {
  const TemporaryFolder folder;
  write_text(folder.path() / "data" / "a.txt", "old");
  std::filesystem::create_symlink("data/a.txt", folder.path() / "link");
  std::filesystem::create_symlink("link", folder.path() / "link to link");
  write_output_file(folder.path() / "link to link", "new");
  EXPECT_EQ(read_text(folder.path() / "data" / "a.txt"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
  EXPECT_EQ(num_files(folder.path() / "data"), 1u);
}

TEST(WriteOutputFile, LeavesWhatAnotherProcessLeft) {
  const TemporaryFolder folder;
  const std::string left = folder.name(".a.txt." + std::to_string(::getpid()) + ".tmp");
  write_text(folder.path() / "elsewhere", "old");
  std::filesystem::create_symlink(folder.path() / "elsewhere", left);
  write_output_file(folder.path() / "a.txt", "new");
  EXPECT_EQ(read_text(folder.path() / "a.txt"), "new");
  EXPECT_EQ(read_text(folder.path() / "elsewhere"), "old");
  EXPECT_TRUE(std::filesystem::is_symlink(left));
}

TEST(WriteOutputFile, TakesANameOfTheGreatestLength) {
  const TemporaryFolder folder;
  const std::string name(255, 'x');
  write_output_file(folder.path() / name, "new");
  EXPECT_EQ(read_text(folder.path() / name), "new");
}

// An error for each thing that is no file, and it stays as it was.
TEST(WriteOutputFile, RefusesWhatIsNotAFile) {
  const TemporaryFolder folder;
  ::mkfifo(folder.name("fifo").c_str(), 0600);
  std::filesystem::create_directory(folder.path() / "folder");
  for (const auto& [target, link] :
       {std::pair("fifo", "link to fifo"), {"nowhere/a.txt", "dangling"}, {"circle", "circle"}})
    std::filesystem::create_symlink(target, folder.path() / link);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  folder.name("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const char* name :
       {"fifo", "link to fifo", "folder", "socket", "dangling", "circle", "nowhere/a.txt", "fifo/a.txt"}) {
    const auto type = std::filesystem::symlink_status(folder.path() / name).type();
    expect_error(ExitCode::kUsage, [&] { write_output_file(folder.path() / name, "x"); });
    EXPECT_EQ(std::filesystem::symlink_status(folder.path() / name).type(), type);
  }
  if (::mknod(folder.name("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
    EXPECT_THAT(message_of_error(ExitCode::kUsage, [&] { write_output_file(folder.path() / "null", "x"); }),
                ::testing::HasSubstr("is a device"));
  }
}

TEST(WriteOutputFile, RefusesTheFileThatStandardOutputGoesTo) {
  const TemporaryFolder folder;
  write_text(folder.path() / "out.txt", "printed");
  const FileDescriptor before(::dup(STDOUT_FILENO));
  const FileDescriptor file = open_for_writing(folder.path() / "out.txt", O_APPEND);
  ::dup2(file.number(), STDOUT_FILENO);
  for (const std::string& name : {std::string("/dev/stdout"), std::string("/proc/self/fd/1"), folder.name("out.txt")})
    expect_error(ExitCode::kUsage, [&] { resolve_output_file(name); });
  ::dup2(before.number(), STDOUT_FILENO);
  EXPECT_EQ(read_text(folder.path() / "out.txt"), "printed");
}

// Root may do everything; while this lives, the process may do what "nobody" may.
class OrdinaryUser {
 public:
  static constexpr uid_t kNobody = 65534;
  OrdinaryUser() {
    if (::geteuid() == 0) is_changed_ = ::seteuid(kNobody) == 0;
  }
  ~OrdinaryUser() {
    if (is_changed_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool is_changed_ = false;
};

TEST(WriteOutputFile, RefusesWhatThisUserMayNotWrite) {
  const TemporaryFolder folder;
  write_text(folder.path() / "a.txt", "old");
  ::chmod(folder.name("a.txt").c_str(), 0444);
  std::filesystem::create_directory(folder.path() / "closed");
  ::chmod(folder.name("closed").c_str(), 0555);
  ::chmod(folder.path().c_str(), 0777);
  const OrdinaryUser user;
  for (const char* name : {"a.txt", "closed/a.txt"})
    expect_error(ExitCode::kUsage, [&] { resolve_output_file(folder.path() / name); });
}

TEST(WriteOutputFile, KeepsOwnerAndGroupIfRootWrites) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TemporaryFolder folder;
  write_text(folder.path() / "a.txt", "old");
  ASSERT_EQ(::chown(folder.name("a.txt").c_str(), 1234, 5678), 0);
  ::chmod(folder.name("a.txt").c_str(), 0664);
  write_output_file(folder.path() / "a.txt", "new");
  struct stat status {};
  ::stat(folder.name("a.txt").c_str(), &status);
  EXPECT_EQ(status.st_uid, 1234U);
  EXPECT_EQ(status.st_gid, 5678U);
  EXPECT_EQ(mode_of(folder.path() / "a.txt"), 0664U);
}

// As in a user namespace, or on NFS with root_squash.
TEST(WriteOutputFile, KeepsItsTextAndModeIfRootMayNotGiveFilesAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TemporaryFolder folder;
  write_text(folder.path() / "a.txt", "old");
  ASSERT_EQ(::chown(folder.name("a.txt").c_str(), 1234, ::getegid()), 0);
  ::chmod(folder.name("a.txt").c_str(), 04664);
  std::thread without_right([&] {  // rights belong to threads
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct rights[2] = {};
    ASSERT_EQ(::syscall(SYS_capget, &header, rights), 0);
    rights[0].effective &= ~(1U << CAP_CHOWN);
    ASSERT_EQ(::syscall(SYS_capset, &header, rights), 0);
    write_output_file(folder.path() / "a.txt", "new");
  });
  without_right.join();
  EXPECT_EQ(read_text(folder.path() / "a.txt"), "new");
  EXPECT_EQ(mode_of(folder.path() / "a.txt"), 0664U);
}

// Else the rights of the old group would be those of another one.
TEST(WriteOutputFile, TakesTheRightsOfAGroupThatItCannotKeep) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to a group that this user is not in";
  const TemporaryFolder folder;
  write_text(folder.path() / "a.txt", "old");
  ASSERT_EQ(::chown(folder.name("a.txt").c_str(), OrdinaryUser::kNobody, 5678), 0);
  ::chmod(folder.name("a.txt").c_str(), 0664);
  ::chmod(folder.path().c_str(), 0777);
  {
    const OrdinaryUser user;
    write_output_file(folder.path() / "a.txt", "new");
  }
  EXPECT_EQ(mode_of(folder.path() / "a.txt"), 0604U);
}

TEST(WriteNewFile, RefusesToTouchAnother) {
  const TemporaryFolder folder;
  const std::vector<std::string_view> pieces = {"a", "b"};
  write_new_file(folder.path() / "a.txt", pieces);
  EXPECT_EQ(read_text(folder.path() / "a.txt"), "ab");
  expect_error(ExitCode::kDevice, [&] { write_new_file(folder.path() / "a.txt", pieces); });
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
  expect_error(ExitCode::kData, [&] { read_file(folder.path() / "a.txt", 999); });
}

TEST(ReadFile, EndsWhenTheFileGrowsAsFastAsItIsRead) {
  const TemporaryFolder folder;
  write_text(folder.path() / "a", std::string(1 << 16, 'x'));  // a piece of the reader, so that few are read
  AppendFile more(folder.path() / "a");
  expect_error(ExitCode::kData,
               [&] { read_pieces(folder.path() / "a", [&](std::string_view piece) { more.append(piece); }); });
}

// Standard input, output and error are open, and the file would be the next.
TEST(ReadFile, SaysThatTooManyFilesAreOpen) {
  const TemporaryFolder folder;
  write_text(folder.path() / "a", "x");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const std::string message = message_of_error(ExitCode::kDevice, [&] { read_file(folder.path() / "a", 10); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(message, ::testing::HasSubstr("ulimit -n"));
}

TEST(ReadFile, RefusesWhatIsNotAFile) {
  const TemporaryFolder folder;
  ::mkfifo(folder.name("fifo").c_str(), 0600);
  expect_error(ExitCode::kData, [&] { read_file(folder.path() / "fifo", 10); });
  expect_error(ExitCode::kData, [&] { read_file(folder.path(), 10); });
  expect_error(ExitCode::kData, [&] { read_file(folder.path() / "absent", 10); });
}

}  // namespace
namespace {

TEST(AppendFile, ContinuesAtTheEnd) {
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

TEST(AppendFile, ContinuesAfterAnInterruption) {
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

// A test that waits here has failed.
TEST(AppendFile, IsNeverAPipe) {
  const TemporaryFolder folder;
  ::mkfifo(folder.name("pipe").c_str(), 0600);
  const auto expect_refused = [&] { expect_error(ExitCode::kDevice, [&] { AppendFile(folder.path() / "pipe"); }); };
  expect_refused();
  const FileDescriptor reader(::open(folder.name("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  expect_refused();
}

TEST(AppendFile, SaysThatTheDiskIsFull) {
  AppendFile file("/dev/full");
  expect_error(ExitCode::kDevice, [&] { file.append("row\n"); });
}

TEST(AppendFile, SaysWhyItCannotOpen) {
  expect_error(ExitCode::kDevice, [] { AppendFile file("/no/such/folder/a"); });
}

}  // namespace
}  // namespace rnnlab::testing
