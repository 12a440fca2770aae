// What every fuzz target asks of a reader: it takes the input, or refuses it with the right exit code and, where a
// reader stops at the first thing that is wrong, with one line. And the folder of targets that need files.
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

// Always on; the fuzzer keeps the input.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

// Lives while an input is read: none may take a second of the processor, however busy the machine is with others.
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

// Makes an empty folder in memory, /dev/shm/rnnlab-fuzz-TARGET-PROCESS, and works in it. It is removed at exit.
inline void work_in_memory(const std::string& target) {
  namespace fs = std::filesystem;
  static const fs::path folder = fmt::format("/dev/shm/rnnlab-fuzz-{}-{}", target, ::getpid());
  fs::remove_all(folder);  // of a process that crashed
  require(fs::create_directory(folder));
  fs::current_path(folder);
  std::atexit([] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  });
}

enum class Lines { kOne, kSeveral };  // of a refusal

// Whether it was read.
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

// Whether `work` ended as it should, or was refused with one of the exit codes.
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
