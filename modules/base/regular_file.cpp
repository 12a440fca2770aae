// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.h"

#include <fcntl.h>

#include <system_error>

namespace rnnlab {

// What the path leads to can change between stat and open, so the opened file is examined again.
RegularFile::RegularFile(const std::filesystem::path& path) {
  if (::stat(path.c_str(), &status_) != 0) {
    error_number_ = errno;
    return;
  }
  if (!S_ISREG(status_.st_mode)) return;
  descriptor_ =
      FileDescriptor(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!is_open() || ::fstat(number(), &status_) != 0) error_number_ = errno;
  if (error_number_ != 0 || !S_ISREG(status_.st_mode)) descriptor_ = FileDescriptor();
}

std::string kind_of_special_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

std::string reason_of(int error_number) {
  if (error_number == EAGAIN) return "it has no data at the moment, so it is not an ordinary file";
  return std::generic_category().message(error_number);
}

}  // namespace rnnlab
