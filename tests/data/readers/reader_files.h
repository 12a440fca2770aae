// SPDX-License-Identifier: Apache-2.0
// Functions that tests of readers share: a fresh folder, files from bytes, gzip by zlib, and the message of an error.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace rnnlab {

// A fresh folder, which is removed after the test.
class ReaderFiles : public testing::Test {
 protected:
  ReaderFiles() : folder_(make_folder()) {}
  ~ReaderFiles() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(std::string_view name) const { return folder_ / name; }

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
      return without_folder(error.what());
    }
    return "no error";
  }

 private:
  static std::filesystem::path make_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rnnlab-readers-XXXXXX").string();
    RNNLAB_INVARIANT(mkdtemp(name.data()) != nullptr, "no temporary folder");
    return name;
  }

  std::string without_folder(std::string message) const {
    const std::string prefix = folder_.string() + "/";
    for (size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
      message.erase(at, prefix.size());
    return message;
  }

  std::filesystem::path folder_;
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

// Returns text that may contain zeros: bytes("\0\1") has two characters.
template <size_t size>
std::string bytes(const char (&literal)[size]) {
  return std::string(literal, size - 1);
}

}  // namespace rnnlab
