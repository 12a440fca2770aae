// SPDX-License-Identifier: Apache-2.0
// The program: parses the command line, runs a verb, and converts failures to exit codes.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/file_handles.h"
#include "output.h"
#include "runs/failure.h"
#include "train/loop/determinism.h"
#include "verbs.h"

namespace {

// Without a current folder, with too small a stack or with too few files that may be opened, a library of LibTorch ends
// the process with an unclear message, often before main. Only functions in .preinit_array run earlier. Such functions
// may use the C library, but nothing that a constructor or a sanitizer sets up.
__attribute__((no_sanitize("address", "undefined"))) void refuse_process(std::string_view message) {
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(static_cast<int>(rnnlab::ExitCode::kDevice));
}

__attribute__((no_sanitize("address", "undefined"))) void require_folder_stack_and_handles() {
  char path[2];
  if (::getcwd(path, sizeof path) == nullptr && errno == ENOENT)
    refuse_process(
        "rnnlab: error: the current folder has been deleted; change to one that exists, such as with `cd ~`\n");
  constexpr rlim_t kLeastStackBytes = 512 * 1024;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < kLeastStackBytes)
    refuse_process(
        "rnnlab: error: the limit on the stack is too small; raise it to 512 KiB at least (ulimit -s 512)\n");
  const int64_t num_free = rnnlab::num_free_handles(rnnlab::kHandlesOfProcess);
  if (num_free >= rnnlab::kHandlesOfProcess) return;
  char message[160];
  const int size = std::snprintf(
      message, sizeof message,
      "rnnlab: error: rnnlab needs %d open files, but only %d more can be opened here: raise the limit on open files "
      "(ulimit -n 1024)\n",
      static_cast<int>(rnnlab::kHandlesOfProcess), static_cast<int>(num_free));
  refuse_process({message, static_cast<size_t>(size)});
}

__attribute__((section(".preinit_array"), used)) void (*const first_of_all)() = require_folder_stack_and_handles;

// All times that rnnlab prints are UTC. Otherwise the C library would open what TZ names, which may be a pipe.
void use_utc() { ::setenv("TZ", "UTC0", 1); }

// Does not destroy static objects: those of LibTorch take a third of the time of a short command, and work with other
// ranks that will not end may still use them (train/ranks/bounded_work.h).
[[noreturn]] void end_process(rnnlab::ExitCode exit_code) {
  std::fflush(nullptr);
  ::_exit(static_cast<int>(exit_code));
}

}  // namespace

int main(int argc, char** argv) {
  use_utc();
  rnnlab::app::open_missing_descriptors();
  rnnlab::app::ignore_signals_of_writing();
  rnnlab::set_environment_for_determinism();
  try {
    end_process(rnnlab::app::run(argc, argv));
  } catch (...) {
    const rnnlab::Failure failure = rnnlab::describe_failure(std::current_exception());
    if (failure.exit_code != rnnlab::ExitCode::kBrokenPipe)  // a pipe into `head` is not a mistake
      rnnlab::app::print_notice(fmt::format("rnnlab: error: {}\n", failure.message));
    end_process(failure.exit_code);
  }
}
