// Whole small files: written atomically, read with a cap. A reader of a file written here sees the old text or the new
// one, never a part, whatever fails in between. Not for data sets: everything is held in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace rnnlab {

// Temporary file in the same folder, fsync, rename, fsync of the folder. UserError kDevice when any of them fails: the
// old text is then still there (or the new, when only the last step failed) and the temporary file is gone.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// The whole of a regular file. UserError kData when it is missing, unreadable, not a regular file or larger than
// `max_bytes`. Never waits on a FIFO.
std::string read_file(const std::filesystem::path& path, int64_t max_bytes);

}  // namespace rnnlab
