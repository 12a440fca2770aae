// SPDX-License-Identifier: Apache-2.0
// Makes a zip archive of one member by zlib, without libzip, which is what the target tests. Also writes a file.
#pragma once

#include <zlib.h>

#include <fstream>
#include <string>
#include <string_view>

#include "fuzz/fuzz_support.h"
#include "fuzz/gzip_of.h"

namespace rnnlab::testing {

enum class Packing : uint16_t { kStored = 0, kDeflated = 8 };

inline std::string little_endian(uint64_t value, int num_bytes) {
  std::string text;
  for (int i = 0; i < num_bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// A gzip member is a header of ten bytes, the deflated data, and eight bytes after them.
inline std::string deflated(std::string_view bytes) {
  constexpr size_t kHeader = 10, kEnd = 8;
  const std::string packed = gzip_of(bytes);
  return packed.substr(kHeader, packed.size() - kHeader - kEnd);
}

// Source: APPNOTE.TXT of PKWARE, 4.3.
inline std::string zip_of(std::string_view name, std::string_view content, Packing packing) {
  const std::string data = packing == Packing::kDeflated ? deflated(content) : std::string(content);
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  const std::string facts = little_endian(20, 2) + little_endian(0, 2) +
                            little_endian(static_cast<uint16_t>(packing), 2) + little_endian(0x21 << 16, 4) +
                            little_endian(crc, 4) + little_endian(data.size(), 4) + little_endian(content.size(), 4) +
                            little_endian(name.size(), 2);
  const std::string member = "PK\x03\x04" + facts + little_endian(0, 2) + std::string(name) + data;
  const std::string nothing_else(16, '\0');  // no more fields, no comment, and the member begins at byte 0
  const std::string directory = "PK\x01\x02" + little_endian(20, 2) + facts + nothing_else + std::string(name);
  return member + directory + "PK\x05\x06" + little_endian(0, 4) + little_endian(1, 2) + little_endian(1, 2) +
         little_endian(directory.size(), 4) + little_endian(member.size(), 4) + little_endian(0, 2);
}

inline void write_file(std::string_view name, std::string_view bytes) {
  std::ofstream file{std::string(name), std::ios::binary};
  file << bytes;
  require(file.good());
}

}  // namespace rnnlab::testing
