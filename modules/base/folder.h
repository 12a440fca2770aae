// What stands beside a file, to suggest what was meant by a name that is not there; and one spelling of a path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rnnlab {

// The names in the folder of `path`, at most 2,000, for a folder may hold millions; none where it cannot be read.
std::vector<std::string> names_beside(const std::filesystem::path& path);

// Absolute, without ".", ".." and a slash behind it, however it was given. Links are not followed. Not of an empty
// path.
std::filesystem::path whole_path(const std::filesystem::path& path);

}  // namespace rnnlab
