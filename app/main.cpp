// The program: parse, dispatch to a verb, map failures to exit codes.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "command_line.h"
#include "experiment/failure.h"
#include "output.h"
#include "training/determinism.h"

namespace {

// A library of LibTorch ends the process with a message of its own while it is loaded, before main. Only what stands in
// .preinit_array runs earlier: it may use the C library, and nothing that a constructor or a sanitizer sets up.
__attribute__((no_sanitize("address", "undefined"))) void require_current_folder() {
  constexpr std::string_view kMessage =
      "rnnlab: error: the current folder has been deleted; change to one that exists, such as with `cd ~`\n";
  char path[2];
  if (::getcwd(path, sizeof path) != nullptr || errno != ENOENT) return;
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(static_cast<int>(rnnlab::ExitCode::kDevice));
}

__attribute__((section(".preinit_array"), used)) void (*const first_of_all)() = require_current_folder;

}  // namespace

int main(int argc, char** argv) {
  rnnlab::app::open_missing_descriptors();
  rnnlab::app::ignore_signals_of_writing();
  rnnlab::set_environment_for_determinism();
  try {
    return static_cast<int>(rnnlab::app::run(argc, argv));
  } catch (...) {
    const rnnlab::Failure failure = rnnlab::describe_failure(std::current_exception());
    if (failure.exit_code != rnnlab::ExitCode::kBrokenPipe)  // a pipe into `head` is no mistake
      rnnlab::app::print_notice(fmt::format("rnnlab: error: {}\n", failure.message));
    return static_cast<int>(failure.exit_code);
  }
}
