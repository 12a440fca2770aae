// What an exception means to the user: an exit code and one message, without a stack trace. The one place that knows
// LibTorch's exceptions.
#pragma once

#include <exception>
#include <string>

#include "base/error.h"

namespace rnnlab {

struct Failure {
  ExitCode exit_code = ExitCode::kInternal;
  std::string message;
};

Failure describe_failure(const std::exception_ptr& exception);

template <class Exception>
bool is_of_type(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Exception&) {
    return true;
  } catch (...) {
    return false;
  }
}

// What torchrun shows of a process that failed: it reads the reason from a file that TORCHELASTIC_ERROR_FILE names.

// Writes `message` there, as torchrun reads it. Does nothing if no launcher has named a file, if there is one already,
// or if it cannot be written: the message is on stderr too.
void write_error_file(const std::string& message) noexcept;

}  // namespace rnnlab
