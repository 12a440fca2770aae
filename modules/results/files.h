// Whole files: written atomically, read with a cap. A reader of a file written here sees the old text or the new one,
// never a part, whatever fails in between. Not for data sets: what is written or read stands in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace rnnlab {

// Temporary file in the same folder, fsync, rename, fsync of the folder. UserError kDevice when any of them fails: the
// old text is then still there (or the new, when only the last step failed) and the temporary file is gone.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// Nothing there is fine. UserError kDevice.
void remove_file(const std::filesystem::path& path);

// Removes what write_file_atomically left in `folder` where it was killed. Nobody else may be writing there. What
// cannot be removed stays.
void remove_temporary_files(const std::filesystem::path& folder);

// A file that must not be there yet, written and synced under its own name: for a folder that nobody reads yet. A part
// of it may be left where this fails. UserError kDevice.
void write_new_file(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// Makes the making, renaming and removing of names in `folder` last through a loss of power. UserError kDevice.
void sync_folder(const std::filesystem::path& folder);

// The whole of a regular file. UserError kData when it is missing, unreadable, not a regular file, larger than
// `max_bytes` or larger than the memory. Never waits on a FIFO.
std::string read_file(const std::filesystem::path& path, int64_t max_bytes);

// At most the first `num_bytes` of such a file.
std::string read_beginning(const std::filesystem::path& path, size_t num_bytes);

// The whole of such a file piece by piece, in little memory.
void read_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& take);

}  // namespace rnnlab
