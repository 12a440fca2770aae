// What torchrun shows of a process that failed: it reads the reason from a file that TORCHELASTIC_ERROR_FILE names.
#pragma once

#include <string>

namespace rnnlab {

// Writes `message` there, as torchrun reads it. Does nothing if no launcher has named a file, if there is one already,
// or if it cannot be written: the message is on stderr too.
void write_error_file(const std::string& message) noexcept;

}  // namespace rnnlab
