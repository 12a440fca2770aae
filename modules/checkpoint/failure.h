// Errors about checkpoints that cannot be used: UserError kCheckpoint, whichever module detects the error.
#pragma once

#include <utility>

#include "base/error.h"

namespace rnnlab {

template <class... Args>
[[noreturn]] void refuse_checkpoint(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ExitCode::kCheckpoint, format, std::forward<Args>(args)...);
}

// Returns the result of `read`; rethrows its kData errors as kCheckpoint errors.
template <class Read>
auto reading_checkpoint(Read read) {
  try {
    return read();
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kData) throw;
    throw UserError(ExitCode::kCheckpoint, error.what());
  }
}

}  // namespace rnnlab
