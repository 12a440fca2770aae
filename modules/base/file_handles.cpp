// SPDX-License-Identifier: Apache-2.0
#include "base/file_handles.h"

#include <cerrno>

#include "base/error.h"

namespace rnnlab {

bool is_limit_on_handles(int error_number) { return error_number == EMFILE || error_number == ENFILE; }

void require_handles(int64_t num_wanted, std::string_view purpose) {
  const int64_t num_free = num_free_handles(num_wanted);
  if (num_free >= num_wanted) return;
  throw_error(ExitCode::kDevice, "{} may need {} open files, but only {} more can be opened here: {}", purpose,
              num_wanted, num_free, kMoreHandles);
}

}  // namespace rnnlab
