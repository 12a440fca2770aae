// How a checkpoint that cannot be used is refused: UserError kCheckpoint, whatever module found out.
#pragma once

#include <utility>

#include "base/error.h"

namespace rnnlab {

template <class... Args>
[[noreturn]] void refuse_checkpoint(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ExitCode::kCheckpoint, format, std::forward<Args>(args)...);
}

// What `read` returns; its errors about data become errors about the checkpoint.
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
