// SPDX-License-Identifier: Apache-2.0
// Output that a signal handler may write (signal-safety(7)).
#pragma once

#include <string_view>

namespace rnnlab {

// Writes the text to standard error. Skips it if a write would block: with a reader that has stopped reading, the
// process could not be ended.
void write_from_signal_handler(std::string_view text);

}  // namespace rnnlab
