// What stands in a folder, such as beside a file, to suggest what was meant by a name that is not there; one spelling
// of a path; what small files of the system say; and the folder for what costs no more than time to lose.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace rnnlab {

// The names in the folder of `path`, at most 2,000, for a folder may hold millions; none where it cannot be read.
std::vector<std::string> names_beside(const std::filesystem::path& path);

// Whether anything is at `path`; not where it cannot be seen.
bool is_there(const std::filesystem::path& path);

// The folders in `folder` that hold one of these names, sorted; none where it cannot be read.
std::vector<std::filesystem::path> folders_with(const std::filesystem::path& folder,
                                                std::initializer_list<const char*> any_of);

// Absolute, without ".", ".." and a slash behind it, however it was given. Links are not followed. Not of an empty
// path.
std::filesystem::path whole_path(const std::filesystem::path& path);

// What a small file of the system says (/proc, /sys, /etc); "" where it cannot be read.
std::string system_text(const std::filesystem::path& file);

// $RNNLAB_CACHE, else $XDG_CACHE_HOME/rnnlab, else ~/.cache/rnnlab; empty where none of the three is set. It need not
// exist.
std::filesystem::path cache_folder();

}  // namespace rnnlab
