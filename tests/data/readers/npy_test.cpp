// SPDX-License-Identifier: Apache-2.0
#include "data/readers/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/readers/reader_files.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

// Version 1.0 by default, with the header padded as NumPy does it.
std::string npy(std::string header, std::string_view data, int version = 1) {
  const int length_bytes = version == 1 ? 2 : 4;
  while ((8 + static_cast<size_t>(length_bytes) + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return "\x93NUMPY" + little_endian(static_cast<size_t>(version), 2) + little_endian(header.size(), length_bytes) +
         header + std::string(data);
}

std::string npy_of(std::string_view type, std::string_view shape, std::string_view data) {
  return npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape), data);
}

class NpyTest : public ReaderFiles {
 protected:
  Array read(std::string_view content) const { return read_npy(write("x.npy", content)); }
  std::string error_in(std::string_view content) const {
    return error_of([&] { read(content); });
  }
  std::string header_error(const std::string& header) const { return error_in(npy(header, "")); }
};

TEST_F(NpyTest, ReadsFloats) {
  const Array array = read(npy_of("<f4", "(2, 1)", bytes("\0\0\x80\x3f\0\0\x20\xc0")));
  EXPECT_EQ(array.type, ElementType::kF32);
  EXPECT_THAT(array.shape, ElementsAre(2, 1));
  EXPECT_THAT(array.values<float>(), ElementsAre(1.0F, -2.5F));
}

TEST_F(NpyTest, ReadsEveryTypeInEitherByteOrder) {
  EXPECT_THAT(read(npy_of("|b1", "(2,)", bytes("\0\1"))).values<uint8_t>(), ElementsAre(0, 1));
  EXPECT_EQ(read(npy_of("|b1", "(2,)", bytes("\0\1"))).type, ElementType::kBool);
  EXPECT_THAT(read(npy_of("|u1", "(1,)", "\xff")).values<uint8_t>(), ElementsAre(255));
  EXPECT_THAT(read(npy_of("|i1", "(1,)", "\xff")).values<int8_t>(), ElementsAre(-1));
  EXPECT_THAT(read(npy_of("<u2", "(1,)", "\1\2")).values<uint16_t>(), ElementsAre(513));
  EXPECT_THAT(read(npy_of(">u2", "(1,)", "\1\2")).values<uint16_t>(), ElementsAre(258));
  EXPECT_THAT(read(npy_of(">i2", "(1,)", "\xff\xfe")).values<int16_t>(), ElementsAre(-2));
  EXPECT_THAT(read(npy_of("<u4", "(1,)", bytes("\1\0\0\x80"))).values<uint32_t>(), ElementsAre(2147483649U));
  EXPECT_THAT(read(npy_of(">i4", "(1,)", "\xff\xff\xff\xfd")).values<int32_t>(), ElementsAre(-3));
  EXPECT_THAT(read(npy_of("<u8", "(1,)", std::string(8, '\xff'))).values<uint64_t>(), ElementsAre(UINT64_MAX));
  EXPECT_THAT(read(npy_of("<i8", "(1,)", std::string(8, '\xff'))).values<int64_t>(), ElementsAre(-1));
  EXPECT_THAT(read(npy_of(">f4", "(1,)", bytes("\xc0\x20\0\0"))).values<float>(), ElementsAre(-2.5F));
  EXPECT_THAT(read(npy_of(">f8", "(1,)", bytes("\x40\x09\x21\xfb\x54\x44\x2d\x18"))).values<double>(),
              ElementsAre(3.141592653589793));
}

TEST_F(NpyTest, WidensHalfPrecisionExactly) {
  const Array array = read(npy_of("<f2", "(8,)", bytes("\0\x3c\0\xc0\xff\x7b\1\0\0\x04\0\x7c\0\x80\1\x7e")));
  EXPECT_EQ(array.type, ElementType::kF32);
  const auto values = array.values<float>();
  EXPECT_THAT(values.first(6), ElementsAre(1.0F, -2.0F, 65504.0F, 0x1p-24F, 0x1p-14F, INFINITY));
  EXPECT_TRUE(values[6] == 0 && std::signbit(values[6]));
  EXPECT_TRUE(std::isnan(values[7]));
}

TEST_F(NpyTest, TurnsFortranOrderIntoRowMajor) {
  const std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2)}";
  // Element (i, j, k) is the letter number i + 2 j + 6 k.
  EXPECT_THAT(read(npy(header, "abcdefghijkl")).values<uint8_t>(),
              ElementsAre('a', 'g', 'c', 'i', 'e', 'k', 'b', 'h', 'd', 'j', 'f', 'l'));
}

TEST_F(NpyTest, ReadsVersions1To3) {
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}";
  for (const int version : {1, 2, 3}) EXPECT_THAT(read(npy(header, "abc", version)).shape, ElementsAre(3));
}

TEST_F(NpyTest, TakesTheHeaderInAnyOrderAndQuotes) {
  EXPECT_THAT(read(npy("{\"shape\":(3,1),\"descr\":\"|u1\",\"fortran_order\":False}", "abc")).shape, ElementsAre(3, 1));
}

TEST_F(NpyTest, ReadsGzip) { EXPECT_EQ(read_npy(write("x.npy.gz", gzip(npy_of("|u1", "(3,)", "abc")))).shape[0], 3); }

TEST_F(NpyTest, NamesTheByteOfTheUnpackedHeader) {
  const auto path = write("x.npy.gz", gzip(npy("{'descr': 7}", "")));
  expect_golden(error_of([&] { read_npy(path); }));
}

TEST_F(NpyTest, TurnsFortranOrderIntoRowMajorBetweenDimensionsOfOne) {
  const auto header = [](std::string_view shape) {
    return fmt::format("{{'descr': '|u1', 'fortran_order': True, 'shape': {}, }}", shape);
  };
  EXPECT_THAT(read(npy(header("(1, 2, 1, 3)"), "\1\2\3\4\5\6")).values<uint8_t>(), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(read(npy(header("(1, 1)"), "\7")).values<uint8_t>(), ElementsAre(7));
}

TEST_F(NpyTest, RefusesOtherFilesAndHeadersOfHostileLength) {
  for (const std::string& content :
       {std::string(), std::string("PK\3\4zip"), std::string("\x93NUMPY\1"), bytes("\x93NUMPY\4\0\1\0"),
        bytes("\x93NUMPY\2\0\xff\xff\xff\xff{}"), bytes("\x93NUMPY\1\0\xff\xff{}"), bytes("\x93NUMPY\1\0\x01")})
    expect_golden(error_in(content));
}

TEST_F(NpyTest, RefusesOtherTypes) {
  for (const char* type : {"|O", "<U5", "|S5", "|V8", "<M8[ns]", "<c8", "<f16", "|f4", "<f\n2\x80"})
    expect_golden(error_in(npy_of(type, "(1,)", "")));
  expect_golden(header_error("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}"));
}

TEST_F(NpyTest, HoldsTheDataAgainstTypeAndShape) {
  struct Case {
    const char *type, *shape;
    std::string data;
  };
  for (const auto& [type, shape, data] :
       {Case{"<f4", "(3, 0)", ""}, Case{"<f4", "()", "abcd"}, Case{"|b1", "(3,)", bytes("\0\1\2")},
        Case{"<f4", "(2,)", "1234567"}, Case{"<f4", "(2,)", "123456789"}, Case{"<f8", "(4611686018427387904, 4)", ""}})
    expect_golden(error_in(npy_of(type, shape, data)));
}

TEST_F(NpyTest, RefusesAHeaderWithItsByte) {
  std::string shape;  // of more dimensions than NumPy takes
  for (int i = 0; i < 65; ++i) shape += "1,";
  const std::vector<std::string> headers = {"",
                                            "[]",
                                            "{}",
                                            "{'descr': '<f4', 'shape': (1,)}",
                                            "{'descr': '<f4', 'fortran_order': False}",
                                            "{'descr': '<f4', 'descr': '<f4'}",
                                            "{'kind': 1}",
                                            "{'descr' '<f4'}",
                                            "{'descr': '<f4' 'shape': (1,)}",
                                            "{descr: '<f4'}",
                                            "{'descr': 4}",
                                            "{'descr': '<f4",
                                            "{'descr': 'f4'}",
                                            "{'descr': '<'}",
                                            "{'fortran_order': 1}",
                                            "{'shape': 3}",
                                            "{'shape': (3, -1)}",
                                            "{'shape': (9223372036854775808,)}",
                                            "{'shape': (3.5,)}",
                                            "{'shape': (x,)}",
                                            "{'shape': (3,",
                                            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
                                            "{'shape': (" + shape + ")}",
                                            "{'shape': (" + std::string(2000, '9') + ",)}"};
  for (const std::string& header : headers) expect_golden(header_error(header));
}

}  // namespace
}  // namespace rnnlab
