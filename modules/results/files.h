// Whole files: written atomically, read with a cap. A reader of a file written here sees the old text or the new one,
// never a part, whatever fails in between. There are two kinds of files to write:
// - a file of a run folder, whose name is rnnlab's own: a link in its place is never followed (write_file_atomically);
// - a file that the user named: a link is followed to the file that it names (write_output_file).
// Left out: data sets (what is written or read is held in memory); of a file that is replaced, its extended attributes,
// access control lists and other hard links.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace rnnlab {

// Temporary file in the same folder, fsync, rename, fsync of the folder. UserError kDevice when any of them fails: the
// old text is then still there (or the new, when only the last step failed) and the temporary file is gone. A link in
// the place of the file is replaced, and one in the place of the temporary file is an error.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// The file behind `path` that write_output_file replaces: `path` itself, or the end of the links that it names.
// UserError kUsage where that is anything but an ordinary file, or a free name in a folder:
// - a device, a pipe, a socket or a folder; the message ends with `advice`, what to do instead;
// - the file that standard output or standard error is sent to, whatever its name;
// - a link whose target is missing: it more often names a disk that is not mounted than a file to make;
// - a file, or a folder for it, that this process may not write, or a file that it may not replace (in /tmp).
std::filesystem::path resolve_output_file(const std::filesystem::path& path,
                                          std::string_view advice = "name an ordinary file");

// UserError kUsage where `path` is a link: for a file whose path the user did not type, or in a folder that somebody
// else may have made.
void refuse_link(const std::filesystem::path& path);

// As write_file_atomically, in the place of resolve_output_file(path), which is asked again. A file that is replaced
// keeps its mode, its group where the system permits that, and its owner where root writes; a group that cannot be kept
// loses its rights. The temporary file is never readable for more users than the file it replaces. UserError kUsage
// and kDevice.
void write_output_file(const std::filesystem::path& path, std::string_view text);
void write_output_file(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// Nothing there is fine. UserError kDevice.
void remove_file(const std::filesystem::path& path);

// Removes the temporary files of processes that were killed while they wrote into `folder`. No other process may be
// writing there. What cannot be removed stays.
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
