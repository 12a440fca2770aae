// SPDX-License-Identifier: Apache-2.0
#include "data/readers/byte_stream.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <random>
#include <string>

#include "data/readers/reader_files.h"
#include "golden.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileTest : public ReaderFiles {
 protected:
  std::string open_error(const fs::path& file) const {
    return error_of([&] { open_stream(file); });
  }
};

TEST_F(FileTest, ReadsInOrderAndStopsAtTheEnd) {
  const auto file = open_stream(write("a", "hello world"));
  std::array<std::byte, 8> bytes{};
  EXPECT_EQ(file->most_bytes(), 11);
  EXPECT_EQ(file->read(bytes), 8u);
  EXPECT_EQ(format_hex(std::span(bytes).first(3)), "68 65 6c");
  EXPECT_EQ(file->read(bytes), 3u);
  EXPECT_EQ(format_hex(std::span(bytes).first(3)), "72 6c 64");
  EXPECT_EQ(file->read(bytes), 0u);
}

// A fifo is refused without waiting for a writer.
TEST_F(FileTest, NamesWhatIsNotAFile) {
  write("train-images.idx", "x");
  fs::create_directory(path("folder"));
  fs::create_directory(path("empty"));
  for (const char* name : {"f", "e", "d", "c", "b", "a"}) std::ofstream(path("folder") / name) << "1\n";
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  for (const char* name : {"train-image.idx", "nothing-like-it", "missing/a.csv", "empty", "folder", "fifo",
                           "train-images.idx/b", "/dev/null"})
    expect_golden(open_error(path(name)));
}

TEST_F(FileTest, RefusesASocket) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  expect_golden(open_error(path("socket")));
  close(descriptor);
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
  expect_golden(error);
}

TEST_F(FileTest, NoticesAFileThatShrinks) {
  const fs::path name = write("a", "0123456789");
  const auto file = open_stream(name);
  fs::resize_file(name, 4);
  std::array<std::byte, 10> bytes{};
  expect_golden(error_of([&] { file->read(bytes); }));
}

TEST_F(FileTest, NoticesAFileThatGrows) {
  const fs::path name = write("a", "0123456789");
  const auto file = open_stream(name);
  std::ofstream(name, std::ios::app) << "more";
  std::array<std::byte, 20> bytes{};
  expect_golden(error_of([&] { file->read(bytes); }));
}

TEST_F(FileTest, ReadsAWholeFileUpToALimit) {
  const std::string text(3'000'000, 'x');
  EXPECT_EQ(read_whole(write("a", text), 3'000'000), text);
  EXPECT_EQ(read_whole(write("empty", ""), 10), "");
  expect_golden(error_of([&] { read_whole(path("a"), 2048); }));
}

// A file of this size is read by several threads.
class LargeFileTest : public ReaderFiles {
 protected:
  static constexpr size_t kSize = 20'000'001;

  LargeFileTest() {
    for (size_t i = 0; i < kSize; ++i) text_[i] = static_cast<char>(i % 251);
    write("a", text_);
  }

  std::string text_ = std::string(kSize, '\0');
};

TEST_F(LargeFileTest, HasEveryByteInItsPlace) {
  EXPECT_TRUE(read_whole(path("a"), kSize) == text_);
  const UnfilledVector<char> unfilled = read_whole_unfilled(path("a"), kSize);
  EXPECT_TRUE(std::string_view(unfilled.data(), unfilled.size()) == text_);
}

TEST_F(LargeFileTest, IsReadOnFromWhereTheLastReadEnded) {
  const auto file = open_stream(path("a"));
  std::string text(kSize, '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  EXPECT_EQ(file->read(bytes.first(3)), 3U);
  EXPECT_EQ(file->read(bytes.subspan(3, 10'000'000)), 10'000'000U);
  EXPECT_EQ(file->read(bytes.subspan(10'000'003)), kSize - 10'000'003);
  EXPECT_TRUE(text == text_);
}

TEST_F(LargeFileTest, IsRefusedIfItShrinks) {
  const auto file = open_stream(path("a"));
  fs::resize_file(path("a"), 1'000'000);
  std::vector<std::byte> bytes(kSize);
  expect_golden(error_of([&] { file->read(bytes); }));
}

TEST_F(LargeFileTest, IsRefusedIfItGrows) {
  const auto file = open_stream(path("a"));
  std::ofstream(path("a"), std::ios::app) << "more";
  std::vector<std::byte> bytes(kSize + 1);
  expect_golden(error_of([&] { file->read(bytes); }));
}

constexpr int64_t kLimit = 1 << 20;

class GzipTest : public ReaderFiles {
 protected:
  std::string error_in(std::string_view packed) const {
    return error_of([&] { read_whole(write("a.gz", packed), kLimit); });
  }
};

std::string noise(size_t size) {
  std::mt19937_64 random(1);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST_F(GzipTest, UnpacksWhatItsContentSaysIsGzip) {
  const std::string text = noise(700'000);
  EXPECT_EQ(read_whole(write("a.gz", gzip(text)), kLimit), text);
  EXPECT_EQ(read_whole(write("without-the-ending", gzip(text)), kLimit), text);
  EXPECT_EQ(read_whole(write("empty.gz", gzip("")), kLimit), "");
}

TEST_F(GzipTest, JoinsSeveralMembers) {
  EXPECT_EQ(read_whole(write("a.gz", gzip("one ") + gzip("") + gzip("two")), kLimit), "one two");
}

TEST_F(GzipTest, NamesTheByteWhereTheDataIsDamaged) {
  const std::string packed = gzip("some text to pack"), bomb = gzip(std::string(50'000'000, '\0'));
  for (size_t length = 2; length < packed.size(); ++length)
    EXPECT_THAT(error_in(packed.substr(0, length)), HasSubstr(fmt::format("cut off at byte {}:", length)));
  std::string wrong_checksum = packed, wrong_length = packed;
  wrong_checksum[packed.size() - 8] ^= 1;
  wrong_length[packed.size() - 4] ^= 1;
  ASSERT_LT(bomb.size(), 60'000u);
  for (const std::string& text :
       {std::string("plain text"), std::string("\x1f"), std::string(), wrong_checksum, wrong_length,
        std::string("\x1f\x8b\x07 and so on"), packed + "garbage", packed + "\x1f", bomb})
    expect_golden(error_in(text));
}

// The repeated text is as long as what is always unpacked, and a byte more.
TEST_F(GzipTest, StopsATextThatUnpacksToManyTimesItsSize) {
  constexpr int64_t kNoLimit = int64_t{1} << 40;
  const std::string allowed(size_t{64} << 20, 'x');
  EXPECT_EQ(read_whole(write("a.gz", gzip(allowed)), kNoLimit).size(), allowed.size());
  expect_golden(error_of([&] { read_whole(write("a.gz", gzip(allowed + "x")), kNoLimit); }));
}

TEST_F(GzipTest, BoundsWhatItCouldUnpackTo) {
  const std::string packed = gzip(std::string(10'000'000, '\0'));
  const auto stream = open_stream(write("a.gz", packed));
  EXPECT_GE(stream->most_bytes(), 10'000'000);
  EXPECT_LE(stream->most_bytes(), 10'500'000);
}

TEST(UnfilledVector, KeepsItsElementsWhenItGrows) {
  UnfilledVector<int> values = {1, 2};
  values.resize(100'000);
  values.resize(2);
  values.push_back(3);
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

TEST(UnfilledVector, SetsElementsThatHaveAValue) {
  EXPECT_THAT(UnfilledVector<int>(1000, 7), Each(7));
  const std::string text = "text";
  EXPECT_THAT(UnfilledVector<char>(text.begin(), text.end()), ElementsAre('t', 'e', 'x', 't'));
}

TEST(UnfilledVector, CallsConstructors) {
  UnfilledVector<std::string> texts(2);
  texts.emplace_back(3, 'x');
  EXPECT_THAT(texts, ElementsAre("", "", "xxx"));
}

}  // namespace
}  // namespace rnnlab
