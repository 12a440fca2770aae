// SPDX-License-Identifier: Apache-2.0
#include "system/signal_output.h"

#include <poll.h>
#include <unistd.h>

namespace rnnlab {

void write_from_signal_handler(std::string_view text) {
  pollfd waiting = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&waiting, 1, 0) != 1 || (waiting.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace rnnlab
