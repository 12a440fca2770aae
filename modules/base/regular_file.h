// SPDX-License-Identifier: Apache-2.0
// The only way to open a file that a user or a stranger named, for reading. Whatever the path leads to, the call
// returns at once: a FIFO, a socket or a device is never opened, because opening it can wait or have effects, and a
// file of the system that has no data at the moment, such as /proc/kmsg, is an error (EAGAIN) and not a wait. Readers
// write their own messages.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/file_descriptor.h"

namespace rnnlab {

// Owns the descriptor of a regular file that is open for reading, or holds the reason why it is not open.
class RegularFile {
 public:
  explicit RegularFile(const std::filesystem::path& path);

  bool is_open() const { return descriptor_.is_open(); }
  int number() const { return descriptor_.number(); }

  // Returns the reason of the system why the file is not open; 0 if the path leads to something that is not a file.
  int error_number() const { return error_number_; }

  // The state of the file when it was opened, or of what the path leads to instead.
  const struct stat& status() const { return status_; }

  FileDescriptor take_descriptor() { return std::move(descriptor_); }

 private:
  FileDescriptor descriptor_;
  int error_number_ = 0;
  struct stat status_ {};
};

// Returns "a folder", "a pipe", "a socket" or "a device".
std::string kind_of_special_file(mode_t mode);

// Returns the system's words for the error of a call on a file. That a file has no data at the moment is in our own
// words, because those of the system ("Resource temporarily unavailable") do not say what is wrong.
std::string reason_of(int error_number);

}  // namespace rnnlab
