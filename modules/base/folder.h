// SPDX-License-Identifier: Apache-2.0
// Helpers for folders and paths: names in a folder (to suggest a name for a missing file), one normal form of a path,
// the text of small system files, and the cache folder. Files in the cache folder can be deleted: only time is lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

// Returns the names in the folder that contains `path`; empty if the folder cannot be read. At most 2,000 names are
// returned, because a folder may hold millions.
std::vector<std::string> sibling_names(const std::filesystem::path& path);

// Return whether anything, a regular file or a folder is at `path`, also behind links; false if `path` cannot be
// accessed.
bool path_exists(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

// Returns the target of a link; empty if `path` is not a link, or cannot be read.
std::filesystem::path link_target(const std::filesystem::path& path);

// Returns the size of a file; nothing if it cannot be read.
std::optional<int64_t> num_bytes_of(const std::filesystem::path& file);

// Returns the folders in `folder` that hold one of these names, sorted; empty if `folder` cannot be read. A link to a
// different name in `folder`, such as `latest`, is left out, because the folder is found by its own name.
std::vector<std::filesystem::path> folders_with(const std::filesystem::path& folder,
                                                std::initializer_list<const char*> any_of);

// Returns the folder of a file, "." if the path has none.
std::filesystem::path folder_of(const std::filesystem::path& path);

// Returns the absolute form of a non-empty `path`, without ".", ".." and a trailing slash. Links are not followed.
std::filesystem::path normalized_path(const std::filesystem::path& path);

// Returns the content of a small system file (in /proc, /sys or /etc); "" if the file cannot be read.
std::string system_text(const std::filesystem::path& file);

// Returns the value of a key in such a text, of lines "key : value" or "key=value"; "" if no line has the key. The
// first line of a key counts.
std::string value_of_key(std::string_view text, std::string_view key, char separator = ':');

// Returns the bytes of a key whose value is a number of kB, as in /proc/meminfo; nothing if there is no such number.
std::optional<int64_t> bytes_of_key(std::string_view text, std::string_view key);

// Returns the value of a variable of the environment; "" if it is not set.
std::string environment_variable(const char* name);

// Returns $RNNLAB_CACHE, else $XDG_CACHE_HOME/rnnlab, else ~/.cache/rnnlab; empty if none of the three variables is
// set. The folder may be missing.
std::filesystem::path cache_folder();

}  // namespace rnnlab
