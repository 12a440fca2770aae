// Checks files that the user names for a verb to write. Each verb calls these functions before it reads or computes
// anything, so that no work is lost because of a name that cannot be written. The files are written by
// write_output_file (system/files.h), which checks them again.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace rnnlab::app {

// Throws UserError kUsage if `out` cannot be written as a file (resolve_output_file, with its `advice`), is one of the
// `inputs` of the verb, exists as an experiment, a sweep or a lock, is a run's own file, or is among its checkpoints.
// Links are followed first, but are rejected in a run folder. Empty paths are ignored.
void require_harmless_output(const std::filesystem::path& out, std::string_view advice,
                             const std::vector<std::filesystem::path>& inputs = {});

// Does these checks for a folder that a verb fills with files, and creates the folder if it is missing.
void require_harmless_folder(const std::filesystem::path& folder);

// Does these checks for the folder of new run folders; throws UserError kUsage also if it is the folder of a run.
void require_folder_for_runs(const std::filesystem::path& folder);

}  // namespace rnnlab::app
