// SPDX-License-Identifier: Apache-2.0
#include "data/readers/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "data/readers/array.h"
#include "data/readers/reader_files.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint16_t kDeflated = 8;

// Returns a .npy file of (count) bytes.
std::string npy_bytes(const std::string& values, size_t claimed_count = 0) {
  std::string header = fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}",
                                   claimed_count == 0 ? values.size() : claimed_count);
  header.resize(118, ' ');
  header[117] = '\n';
  return "\x93NUMPY" + little_endian(1, 2) + little_endian(header.size(), 2) + header + values;
}

class NpzTest : public ReaderFiles {
 protected:
  std::string read(const std::string& array, const std::vector<ZipMember>& members) const {
    return read_bytes(array, zip_of(members));
  }
  // Returns the elements as text.
  std::string read_bytes(const std::string& array, const std::string& archive) const {
    const Array found = read_npy(write("a.npz", archive).string() + array);
    return {found.values<char>().begin(), found.values<char>().end()};
  }
  std::string error_in(const std::string& array, const std::vector<ZipMember>& members) const {
    return error_of([&] { read(array, members); });
  }
  std::string error_in_bytes(const std::string& archive) const {
    return error_of([&] { read_bytes("", archive); });
  }
};

TEST_F(NpzTest, ReadsTheNamedArray) {
  const std::vector<ZipMember> members = {{.name = "x.npy", .content = npy_bytes("abc")},
                                          {.name = "y.npy", .content = npy_bytes("de"), .method = kDeflated},
                                          {.name = "notes.txt", .content = "text"}};
  EXPECT_EQ(read(":x", members), "abc");
  EXPECT_EQ(read(":y", members), "de");
  EXPECT_THAT(NpzArchive(path("a.npz")).names(), ElementsAre("x", "y"));
}

TEST_F(NpzTest, OneOpeningGivesAllArraysAndStreamsOutliveIt) {
  const auto file = write("a.npz", zip_of({{.name = "x.npy", .content = npy_bytes("abc")},
                                           {.name = "y.npy", .content = npy_bytes("de"), .method = kDeflated}}));
  std::unique_ptr<ByteStream> x, y;
  {
    const NpzArchive archive(file);
    x = archive.open("x");
    y = archive.open("y");
  }
  EXPECT_EQ(read_npy(*y).shape, std::vector<int64_t>{2});
  EXPECT_EQ(read_npy(*x).shape, std::vector<int64_t>{3});
}

TEST_F(NpzTest, NeedsNoNameForTheOnlyArray) {
  EXPECT_EQ(read("", {{.name = "notes.txt", .content = "text"}, {.name = "x.npy", .content = npy_bytes("abc")}}),
            "abc");
}

TEST_F(NpzTest, NamesTheArraysThatThereAre) {
  const std::vector<ZipMember> members = {{.name = "x_train.npy", .content = npy_bytes("abc")},
                                          {.name = "y_train.npy", .content = npy_bytes("de")}};
  expect_golden(error_in("", members));
  expect_golden(error_in(":x_tain", members));
  expect_golden(error_in("", {}));
  expect_golden(
      error_in(":x", {{.name = "x.npy", .content = npy_bytes("a")}, {.name = "x.npy", .content = npy_bytes("b")}}));
}

TEST_F(NpzTest, RefusesWhatIsNotAnArchive) {
  expect_golden(error_in_bytes(npy_bytes("abc")));
  expect_golden(error_in_bytes(""));
  EXPECT_THAT(error_of([&] { read_npy(path("b.npz").string() + ":x"); }), HasSubstr("b.npz: no such file"));
  std::filesystem::create_directory(path("c.npz"));
  EXPECT_THAT(error_of([&] { read_npy(path("c.npz").string() + ":x"); }), HasSubstr("c.npz: got a folder"));
}

TEST_F(NpzTest, RefusesAnArchiveThatIsCutOff) {
  const std::string archive = zip_of({{.name = "x.npy", .content = npy_bytes("abc")}});
  expect_golden(error_in_bytes(archive.substr(0, archive.size() - 30)));
}

TEST_F(NpzTest, RefusesAWrongChecksum) {
  for (const uint16_t method : {uint16_t{0}, kDeflated})
    EXPECT_THAT(error_in("", {{.name = "x.npy", .content = npy_bytes("abc"), .method = method, .wrong_crc = 1}}),
                HasSubstr("byte 131: damaged data (CRC error)"));
}

TEST_F(NpzTest, RefusesDamagedDeflate) {
  std::string archive = zip_of({{.name = "x.npy", .content = npy_bytes("abc"), .method = kDeflated}});
  archive[35] = '\xff';  // the first byte of the data
  expect_golden(error_in_bytes(archive));
}

TEST_F(NpzTest, RefusesEncryptionAndOtherCompressions) {
  expect_golden(error_in("", {{.name = "x.npy", .content = npy_bytes("abc"), .flags = 1}}));
  expect_golden(error_in("", {{.name = "x.npy", .content = npy_bytes("abc"), .method = 12}}));
}

// The header of the array, the directory of the archive, or both claim a gibibyte.
TEST_F(NpzTest, AllocatesNoMoreThanThePackedBytesCanHold) {
  constexpr uint32_t kGibibyte = 1 << 30;
  const std::string content = npy_bytes("abc", kGibibyte);
  expect_golden(error_in("", {{.name = "x.npy", .content = content}}));
  expect_golden(error_in("", {{.name = "x.npy", .content = content, .size = kGibibyte + 128}}));
  EXPECT_THAT(error_in("", {{.name = "x.npy", .content = content, .method = kDeflated, .size = kGibibyte + 128}}),
              HasSubstr("a.npz:x: unpacked byte 128: room for "));
}

// A deflated gibibyte of zeros has a mebibyte: it is unpacked only if the array has so many elements.
TEST_F(NpzTest, DoesNotUnpackMoreThanTheArrayHas) {
  expect_golden(
      error_in("", {{.name = "x.npy", .content = npy_bytes(std::string(1 << 24, '\0'), 3), .method = kDeflated}}));
}

TEST_F(NpzTest, FindsTheFileInAPath) {
  EXPECT_EQ(split_array_path("d/a.npz:x").file, "d/a.npz");
  EXPECT_EQ(split_array_path("d/a.npz:sub/x").array, "sub/x");
  EXPECT_EQ(split_array_path("d/a.npz").array, "");
  EXPECT_EQ(split_array_path("a:b.npy").file, "a:b.npy");
}

// NumPy writes zip64 fields into every archive.
TEST_F(NpzTest, ReadsWhatNumPyWrites) {
  if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) GTEST_SKIP() << "python3 has no numpy";
  for (const std::string save : {"savez", "savez_compressed"}) {
    const std::string command = fmt::format(
        "python3 -c \"import numpy; numpy.{}('{}', x=numpy.arange(6, dtype='f4').reshape(3, 2), "
        "y=numpy.array([1, 2, 3]))\"",
        save, path("a.npz").string());
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_THAT(read_npy(path("a.npz").string() + ":x").values<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(read_npy(path("a.npz").string() + ":y").values<int64_t>(), ElementsAre(1, 2, 3));
  }
}

}  // namespace
}  // namespace rnnlab
