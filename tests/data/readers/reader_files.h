// SPDX-License-Identifier: Apache-2.0
// Functions that tests of readers share: a fresh folder, files from bytes, gzip by zlib, and the message of an error.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/system/temporary_folder.h"

namespace rnnlab {

// A fresh folder, which is removed after the test.
class ReaderFiles : public ::testing::Test {
 protected:
  std::filesystem::path path(std::string_view name) const { return folder_.path() / name; }

  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    std::filesystem::remove(path(name));  // some file systems take milliseconds to overwrite a file
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  // Returns the message of the data error that `action` must throw, without the folder before names.
  template <class Action>
  std::string error_of(Action&& action) const {
    try {
      action();
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kData);
      return testing::replaced(error.what(), folder_.name(""), "");
    }
    return "no error";
  }

 private:
  testing::TemporaryFolder folder_;
};

// Returns one gzip member.
inline std::string gzip(std::string_view bytes) {
  z_stream deflater{};
  RNNLAB_INVARIANT(deflateInit2(&deflater, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
  std::string packed(deflateBound(&deflater, bytes.size()), '\0');
  deflater.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  deflater.avail_in = static_cast<uInt>(bytes.size());
  deflater.next_out = reinterpret_cast<Bytef*>(packed.data());
  deflater.avail_out = static_cast<uInt>(packed.size());
  RNNLAB_INVARIANT(deflate(&deflater, Z_FINISH) == Z_STREAM_END, "deflate");
  packed.resize(deflater.total_out);
  deflateEnd(&deflater);
  return packed;
}

inline std::string little_endian(uint64_t value, int num_bytes) {
  std::string text;
  for (int i = 0; i < num_bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// Returns the data of a deflated zip member.
inline std::string raw_deflate(std::string_view bytes) {
  constexpr size_t kGzipHeader = 10, kGzipEnd = 8;
  const std::string packed = gzip(bytes);
  return packed.substr(kGzipHeader, packed.size() - kGzipHeader - kGzipEnd);
}

// A member of a zip archive, with what a damaged or hostile archive says about it.
struct ZipMember {
  std::string name;
  std::string content;
  uint16_t method = 0;                // 0: stored, 8: deflated
  uint16_t flags = 0;                 // 1: encrypted
  uint32_t wrong_crc = 0;             // the bits of the checksum that are wrong
  std::optional<uint32_t> size = {};  // instead of the true one
};

// Returns a zip archive (APPNOTE.TXT of PKWARE, 4.3): members, central directory, end.
inline std::string zip_of(const std::vector<ZipMember>& members) {
  std::string archive, directory;
  for (const ZipMember& member : members) {
    const std::string data = member.method == 8 ? raw_deflate(member.content) : member.content;
    const auto* begin = reinterpret_cast<const Bytef*>(member.content.data());
    const auto crc = static_cast<uint32_t>(crc32(0, begin, static_cast<uInt>(member.content.size())));
    const std::string facts =
        little_endian(20, 2) + little_endian(member.flags, 2) + little_endian(member.method, 2) +
        little_endian(0x21 << 16, 4) + little_endian(crc ^ member.wrong_crc, 4) + little_endian(data.size(), 4) +
        little_endian(member.size.value_or(member.content.size()), 4) + little_endian(member.name.size(), 2);
    directory += "PK\x01\x02" + little_endian(20, 2) + facts + little_endian(0, 12) + little_endian(archive.size(), 4) +
                 member.name;
    archive += "PK\x03\x04" + facts + little_endian(0, 2) + member.name + data;
  }
  const std::string counts = little_endian(members.size(), 2) + little_endian(members.size(), 2);
  return archive + directory + "PK\x05\x06" + little_endian(0, 4) + counts + little_endian(directory.size(), 4) +
         little_endian(archive.size(), 4) + little_endian(0, 2);
}

// Returns text that may contain zeros: bytes("\0\1") has two characters.
template <size_t size>
std::string bytes(const char (&literal)[size]) {
  return std::string(literal, size - 1);
}

}  // namespace rnnlab
