// SPDX-License-Identifier: Apache-2.0
#include "data/readers/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/numbers.h"
#include "data/readers/reader_files.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;

class IdxTest : public ReaderFiles {
 protected:
  Array read(std::string_view content) const { return read_idx(write("x.idx", content)); }
  std::string error_in(std::string_view content) const {
    return error_of([&] { read(content); });
  }
};

std::string size_bytes(uint32_t size) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift);
  return text;
}

std::string header(int type, std::initializer_list<uint32_t> sizes) {
  std::string text = bytes("\0\0") + static_cast<char>(type) + static_cast<char>(sizes.size());
  for (const uint32_t size : sizes) text += size_bytes(size);
  return text;
}

TEST_F(IdxTest, ReadsImages) {
  const Array array = read(header(0x08, {2, 1, 3}) + "abcdef");
  EXPECT_EQ(array.type, ElementType::kU8);
  EXPECT_THAT(array.shape, ElementsAre(2, 1, 3));
  EXPECT_THAT(array.values<uint8_t>(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

TEST_F(IdxTest, ReadsAllSixTypesInTheMachinesByteOrder) {
  EXPECT_THAT(read(header(0x08, {1}) + "\xff").values<uint8_t>(), ElementsAre(255));
  EXPECT_THAT(read(header(0x09, {1}) + "\xff").values<int8_t>(), ElementsAre(-1));
  EXPECT_THAT(read(header(0x0b, {2}) + bytes("\1\2\xff\xfe")).values<int16_t>(), ElementsAre(258, -2));
  EXPECT_THAT(read(header(0x0c, {1}) + bytes("\0\1\0\2")).values<int32_t>(), ElementsAre(65538));
  EXPECT_THAT(read(header(0x0d, {1}) + bytes("\xc0\x20\0\0")).values<float>(), ElementsAre(-2.5F));
  EXPECT_THAT(read(header(0x0e, {1}) + bytes("\x40\x09\x21\xfb\x54\x44\x2d\x18")).values<double>(),
              ElementsAre(3.141592653589793));
}

TEST_F(IdxTest, ReadsGzipUnderAnyName) {
  const std::string content = header(0x08, {3}) + "abc";
  EXPECT_THAT(read_idx(write("x.gz", gzip(content))).shape, ElementsAre(3));
  EXPECT_THAT(read_idx(write("x", gzip(content))).shape, ElementsAre(3));
}

TEST_F(IdxTest, Reads255Dimensions) {
  std::string content = bytes("\0\0\x08\xff");
  for (int i = 0; i < 255; ++i) content += size_bytes(1);
  EXPECT_EQ(read(content + "x").shape, std::vector<int64_t>(255, 1));
  EXPECT_EQ(error_in(content),
            "x.idx: byte 1024: room for 0 bytes up to the end, expected 1 byte (1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x ... "
            "(255 dimensions) of u8): the file is damaged, fetch or write it again");
}

TEST_F(IdxTest, RefusesAnEmptyFile) {
  EXPECT_EQ(error_in(""), "x.idx: empty file, expected IDX data: fetch the file again");
}

TEST_F(IdxTest, RefusesOneToThreeBytes) {
  const std::string remedy =
      "the file ends inside the IDX header, expected at least 8 bytes: "
      "check the path, or name the format that the file really has";
  EXPECT_EQ(error_in(bytes("\0")), "x.idx: byte 1: " + remedy);
  EXPECT_EQ(error_in(bytes("\0\0")), "x.idx: byte 2: " + remedy);
  EXPECT_EQ(error_in(bytes("\0\0\x08")), "x.idx: byte 3: " + remedy);
}

TEST_F(IdxTest, RefusesAnotherFormat) {
  EXPECT_EQ(error_in("id,price\n1,2\n"),
            "x.idx: byte 0: got 69 64, expected 00 00, the start of IDX data: "
            "check the path, or name the format that the file really has");
}

TEST_F(IdxTest, RefusesAnUnknownType) {
  EXPECT_EQ(error_in(header(0x0a, {1}) + "x"),
            "x.idx: byte 2: got element type 0a, expected 08 (u8), 09 (i8), 0b (i16), 0c (i32), 0d (f32) or 0e (f64): "
            "check the path, or name the format that the file really has");
}

TEST_F(IdxTest, RefusesNoDimensions) {
  EXPECT_EQ(error_in(header(0x08, {}) + "x"),
            "x.idx: byte 3: got 0 dimensions, expected 1 to 255: "
            "check the path, or name the format that the file really has");
}

TEST_F(IdxTest, RefusesAFileThatEndsInsideItsSizes) {
  EXPECT_EQ(error_in(header(0x08, {1, 1, 1}).substr(0, 13)),
            "x.idx: byte 13: the file ends inside the sizes of its 3 dimensions: fetch it again");
}

TEST_F(IdxTest, RefusesASizeOfZero) {
  EXPECT_EQ(error_in(header(0x08, {5, 0})),
            "x.idx: byte 8: dimension 2 has size 0, expected at least 1: the file holds no data");
}

TEST_F(IdxTest, RefusesTheGreatestSizeBeforeItTakesMemory) {
  EXPECT_EQ(error_in(header(0x0e, {0xFFFFFFFF}) + "x"),
            "x.idx: byte 8: room for 1 byte up to the end, expected 34,359,738,360 bytes (4294967295 of f64): "
            "the file is damaged, fetch or write it again");
}

TEST_F(IdxTest, RefusesAProductThatOverflows) {
  EXPECT_EQ(error_in(header(0x08, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}) + "x"),
            "x.idx: 4294967295 x 4294967295 x 4294967295 of u8 need more bytes than a file can hold: "
            "the file is damaged, fetch or write it again");
}

TEST_F(IdxTest, RefusesOneByteTooFew) {
  EXPECT_EQ(error_in(header(0x08, {2, 3}) + "abcde"),
            "x.idx: byte 12: room for 5 bytes up to the end, expected 6 bytes (2 x 3 of u8): "
            "the file is damaged, fetch or write it again");
}

TEST_F(IdxTest, RefusesOneByteTooMany) {
  EXPECT_EQ(error_in(header(0x08, {2, 3}) + "abcdefg"),
            "x.idx: byte 18: data follows the last element, expected 6 bytes (2 x 3 of u8): "
            "the file is damaged, fetch or write it again");
}

TEST_F(IdxTest, CountsUnpackedBytesInsideGzip) {
  EXPECT_EQ(error_in(gzip(header(0x08, {2, 3}) + "abcde")),
            "x.idx: unpacked byte 12: the data ends after 5 bytes, expected 6 bytes (2 x 3 of u8): "
            "the file is damaged, fetch or write it again");
  EXPECT_EQ(error_in(gzip(header(0x08, {2, 3}) + "abcdefg")),
            "x.idx: unpacked byte 18: data follows the last element, expected 6 bytes (2 x 3 of u8): "
            "the file is damaged, fetch or write it again");
}

TEST_F(IdxTest, StopsABombBehindASmallHeader) {
  EXPECT_EQ(error_in(gzip(header(0x08, {6}) + std::string(50'000'000, '\0'))),
            "x.idx: unpacked byte 14: data follows the last element, expected 6 bytes (6 of u8): "
            "the file is damaged, fetch or write it again");
}

TEST_F(IdxTest, RefusesAHeaderThatItsGzipDataCannotFill) {
  const std::string packed = gzip(header(0x08, {0xFFFFFFFF}));
  EXPECT_EQ(error_in(packed),
            fmt::format("x.idx: unpacked byte 8: room for {} up to the end, expected 4,294,967,295 bytes "
                        "(4294967295 of u8): the file is damaged, fetch or write it again",
                        counted(1032 * static_cast<int64_t>(packed.size()) - 8, "byte")));
}

TEST_F(IdxTest, ChecksTheChecksumBehindTheLastElement) {
  std::string packed = gzip(header(0x08, {3}) + "abc");
  packed[packed.size() - 5] ^= 1;
  EXPECT_EQ(
      error_in(packed),
      fmt::format("x.idx: byte {}: damaged gzip data (incorrect data check): fetch the file again", packed.size() - 4));
}

TEST_F(IdxTest, NamesAFolder) {
  std::filesystem::create_directory(path("mnist"));
  EXPECT_EQ(error_of([&] { read_idx(path("mnist")); }), "mnist: got a folder, expected a regular file: name a file");
}

}  // namespace
}  // namespace rnnlab
