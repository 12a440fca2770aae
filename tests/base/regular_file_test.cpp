// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "base/system/temporary_folder.h"
#include "golden.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

class RegularFileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.name(name); }

  // Returns what the path leads to, or the system's reason.
  static std::string refusal(const std::string& path) {
    const RegularFile file(path);
    EXPECT_FALSE(file.is_open()) << path;
    return file.error_number() != 0 ? reason_of(file.error_number()) : kind_of_special_file(file.status().st_mode);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(RegularFileTest, IsOpenAndHasItsState) {
  std::ofstream(path("a")) << "four";
  fs::create_symlink("a", path("link"));
  RegularFile file(path("link"));
  ASSERT_TRUE(file.is_open());
  EXPECT_EQ(file.status().st_size, 4);
  const RegularFile moved = std::move(file);
  std::array<char, 8> bytes{};
  EXPECT_EQ(::read(moved.number(), bytes.data(), bytes.size()), 4);
}

// A test that waits here has failed.
TEST_F(RegularFileTest, NothingElseIsOpened) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", path("link to pipe"));
  fs::create_symlink("loop", path("loop"));
  fs::create_symlink("nowhere", path("dangling"));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(refusal(path("pipe")), "a pipe");
  EXPECT_EQ(refusal(path("link to pipe")), "a pipe");
  EXPECT_EQ(refusal(path("socket")), "a socket");
  EXPECT_EQ(refusal(path("")), "a folder");
  EXPECT_EQ(refusal("/dev/zero"), "a device");
  expect_golden(refusal(path("loop")));
  expect_golden(refusal(path("dangling")));
  ::close(socket);
}

// Only root may read the kernel's messages, of which all may have been read.
TEST_F(RegularFileTest, AFileWithoutDataIsAnErrorAndNoWait) {
  const RegularFile file("/proc/kmsg");
  if (!file.is_open()) GTEST_SKIP() << "/proc/kmsg: " << reason_of(file.error_number());
  std::array<char, 4096> bytes{};
  ssize_t got = 0;
  do {
    got = ::read(file.number(), bytes.data(), bytes.size());
  } while (got > 0);
  expect_golden(reason_of(errno));
}

}  // namespace
}  // namespace rnnlab
