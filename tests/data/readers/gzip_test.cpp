#include "data/readers/gzip.h"

#include <gtest/gtest.h>

#include <random>

#include "data/readers/reader_files.h"

namespace rnnlab {
namespace {

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

TEST_F(GzipTest, RefusesAnEndingThatPromisesGzip) {
  EXPECT_EQ(error_in("plain text"),
            "a.gz: byte 0: got 70 6c, expected 1f 8b, the start of gzip data: fetch the file again, "
            "or drop '.gz' from its name if it is not compressed");
  EXPECT_EQ(error_in("\x1f"),
            "a.gz: byte 0: got 1f, expected 1f 8b, the start of gzip data: fetch the file again, "
            "or drop '.gz' from its name if it is not compressed");
  EXPECT_EQ(error_in(""), "a.gz: empty file, expected gzip data: fetch the file again");
}

TEST_F(GzipTest, NamesTheByteWhereTheDataIsCutOff) {
  const std::string packed = gzip("some text to pack");
  for (size_t length = 2; length < packed.size(); ++length)
    EXPECT_EQ(error_in(packed.substr(0, length)),
              fmt::format("a.gz: the gzip data is cut off at byte {}: fetch the file again", length));
}

TEST_F(GzipTest, ChecksTheChecksumAndTheLength) {
  std::string packed = gzip("some text to pack");
  const size_t size = packed.size();
  packed[size - 8] ^= 1;
  EXPECT_EQ(error_in(packed),
            fmt::format("a.gz: byte {}: damaged gzip data (incorrect data check): fetch the file again", size - 4));
  packed[size - 8] ^= 1;
  packed[size - 4] ^= 1;
  EXPECT_EQ(error_in(packed),
            fmt::format("a.gz: byte {}: damaged gzip data (incorrect length check): fetch the file again", size));
}

TEST_F(GzipTest, RefusesAnUnknownMethod) {
  EXPECT_EQ(error_in("\x1f\x8b\x07 and so on"),
            "a.gz: byte 4: damaged gzip data (unknown compression method): fetch the file again");
}

TEST_F(GzipTest, RefusesWhatFollowsTheLastMember) {
  const std::string packed = gzip("text");
  EXPECT_EQ(error_in(packed + "garbage"),
            fmt::format("a.gz: byte {}: got 7 bytes after the gzip data, expected the end: fetch the file again",
                        packed.size()));
  EXPECT_EQ(error_in(packed + "\x1f"),
            fmt::format("a.gz: the gzip data is cut off at byte {}: fetch the file again", packed.size() + 1));
}

TEST_F(GzipTest, StopsABombAtTheLimit) {
  const std::string packed = gzip(std::string(50'000'000, '\0'));
  ASSERT_LT(packed.size(), 60'000u);
  EXPECT_EQ(error_in(packed), "a.gz: holds more than 1.00 MiB, the most that this reader takes: split the file");
}

TEST_F(GzipTest, BoundsWhatItCouldUnpackTo) {
  const std::string packed = gzip(std::string(10'000'000, '\0'));
  const auto stream = open_stream(write("a.gz", packed));
  EXPECT_GE(stream->most_bytes(), 10'000'000);
  EXPECT_LE(stream->most_bytes(), 10'500'000);
}

}  // namespace
}  // namespace rnnlab
