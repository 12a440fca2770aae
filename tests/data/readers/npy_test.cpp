// SPDX-License-Identifier: Apache-2.0
#include "data/readers/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/readers/reader_files.h"
#include "golden.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;

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

TEST_F(NpyTest, RefusesOtherFiles) {
  expect_golden(error_in(""));
  expect_golden(error_in("PK\3\4zip"));
  expect_golden(error_in("\x93NUMPY\1"));
  expect_golden(error_in(bytes("\x93NUMPY\4\0\1\0")));
}

TEST_F(NpyTest, RefusesHeadersOfHostileLength) {
  expect_golden(error_in(bytes("\x93NUMPY\2\0\xff\xff\xff\xff{}")));
  expect_golden(error_in(bytes("\x93NUMPY\1\0\xff\xff{}")));
  expect_golden(error_in(bytes("\x93NUMPY\1\0\x01")));
}

TEST_F(NpyTest, RefusesTypesThatAreNoNumbersByName) {
  const auto error_of_type = [&](std::string_view type) { return error_in(npy_of(type, "(1,)", "")); };
  expect_golden(error_of_type("|O"));
  expect_golden(error_of_type("<U5"));
  EXPECT_EQ(error_of_type("|S5"), error_of_type("<U5"));
  expect_golden(error_of_type("|V8"));
  expect_golden(error_of_type("<M8[ns]"));
  expect_golden(error_of_type("<c8"));
  expect_golden(header_error("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}"));
}

TEST_F(NpyTest, RefusesNumbersOfOtherWidths) {
  expect_golden(error_in(npy_of("<f16", "(1,)", "")));
  expect_golden(error_in(npy_of("|f4", "(1,)", "")));
  expect_golden(error_in(npy_of("<f\n2\x80", "(1,)", "")));
}

TEST_F(NpyTest, RefusesEmptyArraysAndSingleNumbers) {
  expect_golden(error_in(npy_of("<f4", "(3, 0)", "")));
  expect_golden(error_in(npy_of("<f4", "()", "abcd")));
}

TEST_F(NpyTest, RefusesBoolsThatAreNeither) { expect_golden(error_in(npy_of("|b1", "(3,)", bytes("\0\1\2")))); }

TEST_F(NpyTest, HoldsTheDataAgainstTheShape) {
  expect_golden(error_in(npy_of("<f4", "(2,)", "1234567")));
  expect_golden(error_in(npy_of("<f4", "(2,)", "123456789")));
  expect_golden(error_in(npy_of("<f8", "(4611686018427387904, 4)", "")));
}

TEST_F(NpyTest, RefusesMoreDimensionsThanNumPyTakes) {
  std::string shape;
  for (int i = 0; i < 65; ++i) shape += "1,";
  expect_golden(header_error("{'shape': (" + shape + ")}"));
}

TEST_F(NpyTest, CutsASizeOfManyDigitsInTheMessage) {
  expect_golden(header_error("{'shape': (" + std::string(2000, '9') + ",)}"));
}

struct BadHeader {
  const char* header;
  const char* message;
};

class NpyHeaderTest : public NpyTest, public testing::WithParamInterface<BadHeader> {};

TEST_P(NpyHeaderTest, IsRefusedWithItsByte) { expect_golden(header_error(GetParam().header)); }

INSTANTIATE_TEST_SUITE_P(
    Bad, NpyHeaderTest,
    testing::Values(
        BadHeader{"", "byte 64: got the end of the header, expected '{'"},
        BadHeader{"[]", "byte 10: got '[', expected '{'"}, BadHeader{"{}", "byte 10: the header lacks the key 'descr'"},
        BadHeader{"{'descr': '<f4', 'shape': (1,)}", "byte 10: the header lacks the key 'fortran_order'"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False}", "byte 10: the header lacks the key 'shape'"},
        BadHeader{"{'descr': '<f4', 'descr': '<f4'}", "byte 27: the key 'descr' occurs twice"},
        BadHeader{"{'kind': 1}", "byte 11: got the key 'kind', expected 'descr', 'fortran_order' or 'shape'"},
        BadHeader{"{'descr' '<f4'}", "byte 19: got ''', expected ':'"},
        BadHeader{"{'descr': '<f4' 'shape': (1,)}", "byte 26: got ''', expected ','"},
        BadHeader{"{descr: '<f4'}", "byte 11: got 'd', expected a key in quotes"},
        BadHeader{"{'descr': 4}", "byte 20: got '4', expected an element type in quotes"},
        BadHeader{"{'descr': '<f4", "byte 20: a quote is opened here and never closed"},
        BadHeader{"{'descr': 'f4'}",
                  "byte 20: got the element type 'f4', expected a byte order and a type as in '<f4'"},
        BadHeader{"{'descr': '<'}", "byte 20: got the element type '<', expected a byte order and a type as in '<f4'"},
        BadHeader{"{'fortran_order': 1}", "byte 28: got '1', expected True or False"},
        BadHeader{"{'shape': 3}", "byte 20: got '3', expected '('"},
        BadHeader{"{'shape': (3, -1)}", "byte 24: got the size -1, expected 0 to 2^63 - 1"},
        BadHeader{"{'shape': (9223372036854775808,)}",
                  "byte 21: got the size 9223372036854775808, expected 0 to 2^63 - 1"},
        BadHeader{"{'shape': (3.5,)}", "byte 22: got '.', expected ','"},
        BadHeader{"{'shape': (x,)}", "byte 21: got 'x', expected a size"},
        BadHeader{"{'shape': (3,", "byte 64: got the end of the header, expected a size"},
        BadHeader{"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
                  "byte 66: got 'x', expected the end of the header"}));

}  // namespace
}  // namespace rnnlab
