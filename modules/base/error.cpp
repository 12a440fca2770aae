#include "base/error.h"

#include <filesystem>

namespace rnnlab {

void fail_invariant(const char* expression, const char* file, int line, const std::string& message) {
  throw InvariantError(fmt::format("internal error at {}:{}: {} ({})", std::filesystem::path(file).filename().string(),
                                   line, message, expression));
}

}  // namespace rnnlab
