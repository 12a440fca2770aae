// SPDX-License-Identifier: Apache-2.0
// A file in memory, for readers that need a path. Its name does not depend on its content.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "fuzz/fuzz_support.h"

namespace rnnlab::testing {

class MemoryFile {
 public:
  MemoryFile()
      : descriptor_(::memfd_create("input", MFD_CLOEXEC)), path_(fmt::format("/proc/self/fd/{}", descriptor_)) {
    require(descriptor_ >= 0);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Writes `bytes` as the only content of the file and returns its path.
  const std::string& holding(std::string_view bytes) {
    require(::ftruncate(descriptor_, 0) == 0);
    require(::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    return path_;
  }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace rnnlab::testing
