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

}  // namespace rnnlab
