// SPDX-License-Identifier: Apache-2.0
// Provides a folder with space for only a few kilobytes: a small tmpfs if mounting is permitted, otherwise a limit on
// the size of files.
#pragma once

#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <string>

#include "base/system/temporary_folder.h"

namespace rnnlab::testing {

class SmallDisk {
 public:
  static constexpr rlim_t kBytes = 16384;

  SmallDisk() {
    is_mounted_ = ::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=16k") == 0;
    if (is_mounted_) return;
    // The program's main also ignores this signal. Programs that a test starts get the system's default disposition.
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit = {kBytes, old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() {
    if (is_mounted_) {
      ::umount2(folder_.path().c_str(), MNT_DETACH);
      return;
    }
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const std::filesystem::path& path() const { return folder_.path(); }
  // Returns the system's message when the disk is full, with rnnlab's advice.
  std::string reason() const {
    return is_mounted_ ? "No space left on device; free some space or write to another disk"
                       : "File too large; raise the limit on the size of files (ulimit -f)";
  }

 private:
  TemporaryFolder folder_;
  bool is_mounted_ = false;
  rlimit old_limit_{};
  void (*old_handler_)(int) = SIG_DFL;
};

}  // namespace rnnlab::testing
