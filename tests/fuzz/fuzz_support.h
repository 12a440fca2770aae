// SPDX-License-Identifier: Apache-2.0
// Checks that all fuzz targets share: a reader accepts the input, or refuses it with the right exit code and, if it
// stops at the first error, with one line. Also provides the folder of targets that need files.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace rnnlab::testing {

// This check is always on; the fuzzer keeps the input.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

// Exists while an input is read: no input may take more than a second of processor time, which other processes do not
// affect.
class OneSecond {
 public:
  OneSecond() = default;
  ~OneSecond() { require(std::clock() - start_ < CLOCKS_PER_SEC); }
  OneSecond(const OneSecond&) = delete;
  OneSecond& operator=(const OneSecond&) = delete;

 private:
  std::clock_t start_ = std::clock();
};

inline std::string text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// Makes an empty folder in memory, /dev/shm/rnnlab-fuzz-TARGET-PROCESS, and makes it the current folder. It is removed
// at exit.
inline void work_in_memory(const std::string& target) {
  namespace fs = std::filesystem;
  static const fs::path folder = fmt::format("/dev/shm/rnnlab-fuzz-{}-{}", target, ::getpid());
  fs::remove_all(folder);  // left by a process that crashed
  require(fs::create_directory(folder));
  fs::current_path(folder);
  std::atexit([] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  });
}

enum class Lines { kOne, kSeveral };  // of a message of refusal

// Returns whether the input was read.
template <class Read>
bool expect_read_or_refused(ExitCode exit_code, Read read, Lines lines = Lines::kOne) {
  try {
    read();
    return true;
  } catch (const UserError& error) {
    require(error.exit_code() == exit_code);
    require(lines == Lines::kSeveral || std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

// Returns whether `work` ended normally; otherwise it must be refused with one of the exit codes.
template <class Work>
bool expect_done_or_refused(std::initializer_list<ExitCode> exit_codes, Work work) {
  try {
    work();
    return true;
  } catch (const UserError& error) {
    require(std::find(exit_codes.begin(), exit_codes.end(), error.exit_code()) != exit_codes.end());
    return false;
  }
}

}  // namespace rnnlab::testing
