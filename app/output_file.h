// Files that the user names for a verb to write. Each verb asks here before it reads or computes anything, so that no
// work is lost to a name that cannot be written. What is written afterwards goes through write_output_file
// (system/files.h), which asks again.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace rnnlab::app {

// UserError kUsage where `out` cannot be written as a file (resolve_output_file, with its `advice`), is one of
// the `inputs` of the verb, is there as an experiment, a sweep or a lock, is a file of a run's own, or lies among
// its checkpoints. Links are followed first, but not in a run folder, where they are refused. Empty paths name no file.
void require_harmless_output(const std::filesystem::path& out, std::string_view advice,
                             const std::vector<std::filesystem::path>& inputs = {});

// The same for a folder that a verb fills with files, which is made where it is missing.
void require_harmless_folder(const std::filesystem::path& folder);

// The same for the folder that the folders of runs go to: UserError kUsage also where it is the folder of a run.
void require_folder_for_runs(const std::filesystem::path& folder);

}  // namespace rnnlab::app
