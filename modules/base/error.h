// SPDX-License-Identifier: Apache-2.0
// Errors of rnnlab are of two kinds. A user's mistake (UserError) ends the program with one clear message and a
// documented exit code. A broken invariant (InvariantError) is a defect of rnnlab, and its message says so. This header
// does not handle errors: main catches both kinds and returns their exit codes.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rnnlab {

enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,
  kUsage = 2,             // command line or configuration
  kData = 3,              // a data file
  kDevice = 4,            // device or environment
  kDiverged = 5,          // NaN or Inf in training
  kCheckpoint = 6,        // a checkpoint that cannot be used
  kRegression = 7,        // a benchmark was slower than its baseline
  kAtWorkElsewhere = 75,  // a task that runs elsewhere, in a sweep; as EX_TEMPFAIL of sysexits.h
  kInterrupted = 130,     // 128 + SIGINT: results are written, as after SIGTERM, SIGHUP, SIGXCPU and SIGUSR1
  kBrokenPipe = 141,      // 128 + SIGPIPE: the reader of standard output has closed the pipe
  kTerminated = 143,      // 128 + SIGTERM
};

// Returns the exit code that a shell reports for a program that the signal `number` ended.
constexpr ExitCode exit_code_of_signal(int number) { return static_cast<ExitCode>(128 + number); }

// A mistake that the user can correct. The message says what is wrong, where it is, which value was found, which value
// is expected, and what to do next.
class UserError : public std::runtime_error {
 public:
  UserError(ExitCode exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

// throw_error(ExitCode::kData, "{}: {} bytes, expected {}", path, got, wanted)
template <class... Args>
[[noreturn]] void throw_error(ExitCode exit_code, fmt::format_string<Args...> format, Args&&... args) {
  throw UserError(exit_code, fmt::format(format, std::forward<Args>(args)...));
}

// A defect of rnnlab itself.
class InvariantError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void fail_invariant(const char* expression, std::string_view file, int line,
                                        const std::string& message) {
  file.remove_prefix(file.rfind('/') + 1);
  throw InvariantError(fmt::format("internal error at {}:{}: {} ({})", file, line, message, expression));
}

}  // namespace rnnlab

// The check also runs in release builds.
#define RNNLAB_INVARIANT(condition, message) \
  ((condition) ? void() : ::rnnlab::fail_invariant(#condition, __FILE__, __LINE__, (message)))
