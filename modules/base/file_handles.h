// SPDX-License-Identifier: Apache-2.0
// How many files and connections this process may still open (ulimit -n). Libraries end the process or wait for ever
// when a handle is refused, so rnnlab counts the free ones before it begins, and asks for all that it needs.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include <cstdint>
#include <string_view>

namespace rnnlab {

// What a process of rnnlab needs at most, without those for other processes: half of it has been seen in use.
inline constexpr int64_t kHandlesOfProcess = 64;

// A process that trains one run with others has connections to each of them, and the first or its parent holds the
// store, with connections of its own to each: four to six have been seen in use.
inline constexpr int64_t kHandlesOfPeer = 8;

// Returns how many more files may be opened, but at most `enough`. Needs neither /proc nor any library but that of C,
// so that it can be called before main.
__attribute__((no_sanitize("address", "undefined"))) inline int64_t num_free_handles(int64_t enough) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return enough;
  int64_t num_free = 0;
  for (rlim_t number = 0; number < limit.rlim_cur && num_free < enough; ++number)
    if (::fcntl(static_cast<int>(number), F_GETFD) < 0) ++num_free;
  return num_free;
}

// Returns whether an open of a file failed because of a limit on their number (EMFILE, ENFILE).
bool is_limit_on_handles(int error_number);

// The next step of messages about such a limit.
inline constexpr const char* kMoreHandles = "raise the limit on open files (ulimit -n 1024)";

// Throws UserError kDevice if fewer than `num_wanted` files can be opened. `purpose` begins the message: "4 processes".
void require_handles(int64_t num_wanted, std::string_view purpose);

}  // namespace rnnlab
