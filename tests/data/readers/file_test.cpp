#include "data/readers/file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>

#include "data/readers/reader_files.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

class FileTest : public ReaderFiles {
 protected:
  std::string open_error(const fs::path& file) const {
    return error_of([&] { File opened(file); });
  }
};

TEST_F(FileTest, ReadsInOrderAndStopsAtTheEnd) {
  File file(write("a", "hello world"));
  std::array<std::byte, 8> bytes{};
  EXPECT_EQ(file.most_bytes(), 11);
  EXPECT_EQ(file.read(bytes), 8u);
  EXPECT_EQ(format_hex(std::span(bytes).first(3)), "68 65 6c");
  EXPECT_EQ(file.read(bytes), 3u);
  EXPECT_EQ(format_hex(std::span(bytes).first(3)), "72 6c 64");
  EXPECT_EQ(file.read(bytes), 0u);
}

TEST_F(FileTest, PeeksWithoutMovingOn) {
  File file(write("a", "xy"));
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(file.peek(bytes), 2u);
  EXPECT_EQ(file.read(bytes), 2u);
}

TEST_F(FileTest, SuggestsANameBesideAMissingFile) {
  write("train-images.idx", "x");
  EXPECT_EQ(open_error(path("train-image.idx")),
            "train-image.idx: no such file (did you mean 'train-images.idx'?): check the path");
  EXPECT_EQ(open_error(path("nothing-like-it")), "nothing-like-it: no such file: check the path");
}

TEST_F(FileTest, NamesAMissingFolder) {
  EXPECT_EQ(open_error(path("missing/a.csv")), "missing/a.csv: folder 'missing' does not exist: check the path");
}

TEST_F(FileTest, RefusesAFolder) {
  fs::create_directory(path("folder"));
  EXPECT_EQ(open_error(path("folder")), "folder: got a folder, expected a regular file: name a file in it");
}

TEST_F(FileTest, RefusesAFifoWithoutWaitingForAWriter) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(open_error(path("fifo")), "fifo: got a FIFO, expected a regular file: write the data to a file first");
}

TEST_F(FileTest, RefusesADevice) {
  EXPECT_EQ(open_error("/dev/null"), "/dev/null: got a device, expected a regular file: check the path");
}

TEST_F(FileTest, RefusesASocket) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(open_error(path("socket")), "socket: got a socket, expected a regular file: check the path");
  close(descriptor);
}

TEST_F(FileTest, RefusesAPathThroughAFile) {
  write("a", "x");
  EXPECT_EQ(open_error(path("a") / "b"), "a/b: cannot be opened (Not a directory): check the path");
}

// The administrator may read everything, so the test gives that up for a moment.
TEST_F(FileTest, SaysHowToAllowReading) {
  const fs::path file = write("secret", "x");
  fs::permissions(path(""), fs::perms::others_exec | fs::perms::group_exec, fs::perm_options::add);
  fs::permissions(file, fs::perms::none);
  const uid_t user = geteuid();
  constexpr uid_t kNobody = 65534;
  const bool stepped_down = user == 0 && seteuid(kNobody) == 0;
  if (user == 0 && !stepped_down) GTEST_SKIP() << "the administrator may read everything";
  const std::string error = open_error(file);
  ASSERT_EQ(seteuid(user), 0);
  EXPECT_EQ(error, "secret: permission denied: allow reading with 'chmod +r' or run as the file's owner");
}

TEST_F(FileTest, NoticesAFileThatShrinks) {
  const fs::path name = write("a", "0123456789");
  File file(name);
  fs::resize_file(name, 4);
  std::array<std::byte, 10> bytes{};
  EXPECT_EQ(error_of([&] { file.read(bytes); }),
            "a: shrank to 4 bytes while it was read, from 10 bytes: wait until nothing writes to it");
}

TEST_F(FileTest, NoticesAFileThatGrows) {
  const fs::path name = write("a", "0123456789");
  File file(name);
  std::ofstream(name, std::ios::app) << "more";
  std::array<std::byte, 20> bytes{};
  EXPECT_EQ(error_of([&] { file.read(bytes); }),
            "a: grew while it was read, from 10 bytes: wait until nothing writes to it");
}

TEST_F(FileTest, ReadsAWholeFileUpToALimit) {
  const std::string text(3'000'000, 'x');
  EXPECT_EQ(read_whole(write("a", text), 3'000'000), text);
  EXPECT_EQ(read_whole(write("empty", ""), 10), "");
  EXPECT_EQ(error_of([&] { read_whole(path("a"), 2048); }),
            "a: holds more than 2.00 KiB, the most that this reader takes: split the file");
}

}  // namespace
}  // namespace rnnlab
