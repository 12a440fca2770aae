// SPDX-License-Identifier: Apache-2.0
#include "data/readers/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/numbers.h"
#include "data/readers/reader_files.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

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
  expect_golden(error_in(content));
}

TEST_F(IdxTest, RefusesADamagedHeader) {
  for (const std::string& content :
       {std::string(), bytes("\0"), bytes("\0\0"), bytes("\0\0\x08"), std::string("id,price\n1,2\n"),
        header(0x0a, {1}) + "x", header(0x08, {}) + "x", header(0x08, {1, 1, 1}).substr(0, 13), header(0x08, {5, 0})})
    expect_golden(error_in(content));
}

// Memory is taken only for elements that the file can have.
TEST_F(IdxTest, RefusesSizesThatAreNotThoseOfTheData) {
  const std::string two_by_three = header(0x08, {2, 3});
  for (const std::string& content :
       {header(0x0e, {0xFFFFFFFF}) + "x", header(0x08, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}) + "x",
        two_by_three + "abcde", two_by_three + "abcdefg", gzip(two_by_three + "abcde"), gzip(two_by_three + "abcdefg"),
        gzip(header(0x08, {6}) + std::string(50'000'000, '\0')), gzip(header(0x08, {0xFFFFFFFF}))})
    expect_golden(error_in(content));
}

TEST_F(IdxTest, ChecksTheChecksumBehindTheLastElement) {
  std::string packed = gzip(header(0x08, {3}) + "abc");
  packed[packed.size() - 5] ^= 1;
  expect_golden(error_in(packed));
}

TEST_F(IdxTest, NamesAFolder) {
  std::filesystem::create_directory(path("mnist"));
  expect_golden(error_of([&] { read_idx(path("mnist")); }));
}

}  // namespace
}  // namespace rnnlab
