// Files that the user names for a verb to write: whatever stands there is replaced, but for what would be missed.
#pragma once

#include <filesystem>

namespace rnnlab::app {

// UserError kUsage where `out` is what the verb reads (`input`, or "" for none), a file of a run's own, or lies in a
// checkpoint. An empty `out` means none.
void require_harmless_output(const std::filesystem::path& out, const std::filesystem::path& input);

}  // namespace rnnlab::app
