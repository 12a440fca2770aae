// Kernels that do not start, as errors of the user's machine. kernels/ throw std::runtime_error, for they know no
// others.
#pragma once

#include <stdexcept>

#include "base/error.h"

namespace rnnlab {

// What `start` gives. UserError kDevice where what it starts does not: for the caller it is the machine's fault, or the
// build's.
template <class Start>
auto started_on_device(const Start& start) {
  try {
    return start();
  } catch (const std::runtime_error& error) {
    throw_error(ExitCode::kDevice, "{}", error.what());
  }
}

}  // namespace rnnlab
