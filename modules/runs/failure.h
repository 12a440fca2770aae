// SPDX-License-Identifier: Apache-2.0
// Converts an exception to an exit code and one message for the user, without a stack trace. Only this file handles
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

// Writes `message` to the file that TORCHELASTIC_ERROR_FILE names, from which torchrun reads why a process failed. Does
// nothing if no launcher has named a file, if the file exists already, or if it cannot be written, because the message
// is also on stderr.
void write_error_file(const std::string& message) noexcept;

}  // namespace rnnlab
