// SPDX-License-Identifier: Apache-2.0
// Loads libraries of the system, such as those of a GPU's driver, by their names. The system's loader opens whatever
// has the name in a folder of LD_LIBRARY_PATH, and would wait for ever for the writer of a pipe.
#pragma once

#include <string>

namespace rnnlab {

// The handle of dlopen(3), or null and the reason.
struct SharedLibrary {
  void* handle = nullptr;
  std::string failure;
};

// Calls dlopen(3) with these flags, unless the name or path leads to something that is not a file.
SharedLibrary open_shared_library(const std::string& name, int flags);

}  // namespace rnnlab
