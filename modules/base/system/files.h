// SPDX-License-Identifier: Apache-2.0
// Writes and reads files: a file is written completely or not at all, durably if that matters, and every error names
// the path. The meaning of a file is left to its readers.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.h"

namespace rnnlab {

// The functions below are the checked system calls that all writers of results use; a failed call throws UserError
// kDevice with the path and the system's reason.

// Calls open(2) with O_CLOEXEC, again after EINTR; the mode is 0666 without the bits of the umask.
FileDescriptor open_for_writing(const std::filesystem::path& path, int flags);

// Returns the number of bytes that were written; if this number is less than the size of `text`, errno has the reason.
// Continues after EINTR and short writes.
size_t write_some(int number, std::string_view text);

// Throws "<path>: cannot <verb>: <reason of errno>", with advice for a full disk or a limit.
[[noreturn]] void throw_system_error(const std::filesystem::path& path, std::string_view verb, int error_number);

// The functions below write whole files atomically and read files up to a maximal size. A reader of a file written here
// gets the old text or the new text, never a part, whichever call fails. There are two kinds of files to write:
// - a file of a run folder, whose name rnnlab chose: a link in its place is never followed (write_file_atomically);
// - a file that the user named: a link is followed to its target (write_output_file).
// Left out: data sets (the whole text is held in memory); and the extended attributes, access control lists and other
// hard links of a file that is replaced.
// Writes a temporary file in the same folder, then calls fsync, rename, and fsync of the folder. Throws UserError
// kDevice if a step fails: the file then still has the old text (or the new text, if only the last step failed) and the
// temporary file is removed. A link in place of the file is replaced; a link in place of the temporary file is an
// error.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// Returns the file that write_output_file replaces: `path` itself, or the end of its chain of links. Throws UserError
// kUsage if this is neither an ordinary file nor a free name in a folder, that is for:
// - a device, a pipe, a socket or a folder; the message ends with `advice`;
// - the file that receives standard output or standard error, under any name;
// - a link whose target is missing: more often its disk is not mounted than the file is to be created;
// - a file, or its folder, that this process may not write, or a file that it may not replace (in /tmp).
std::filesystem::path resolve_output_file(const std::filesystem::path& path,
                                          std::string_view advice = "name an ordinary file");

// Throws UserError kUsage if `path` is a link. The function is for a file whose path the user did not type, or whose
// folder another user may have made.
void refuse_link(const std::filesystem::path& path);

// Writes resolve_output_file(path), which it calls again, as write_file_atomically does. A replaced file keeps its
// mode, its group if the system permits that, and its owner if root writes; if the group cannot be kept, the new group
// gets no rights. The temporary file is never readable for more users than the replaced file. Throws UserError kUsage
// and kDevice.
void write_output_file(const std::filesystem::path& path, std::string_view text);
void write_output_file(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// Removes the file; a missing file is not an error. Throws UserError kDevice.
void remove_file(const std::filesystem::path& path);

// Removes the temporary files of processes that were killed while they wrote into `folder`. No other process may
// write there during the call. Files that cannot be removed are left.
void remove_temporary_files(const std::filesystem::path& folder);

// Writes and syncs a file that must not exist yet, under its final name; for a folder that has no reader yet. If the
// call fails, a part of the file may be left. Throws UserError kDevice.
void write_new_file(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// Makes created, renamed and removed names in `folder` durable against a loss of power. Throws UserError kDevice.
void sync_folder(const std::filesystem::path& folder);

// Returns the whole of a regular file. Throws UserError kData if the file is missing, unreadable, not a regular file,
// larger than `max_bytes` or larger than the memory. Never waits on a FIFO.
std::string read_file(const std::filesystem::path& path, int64_t max_bytes);

// Returns at most the first `num_bytes` of a regular file; throws as read_file does.
std::string read_beginning(const std::filesystem::path& path, size_t num_bytes);

// Passes the whole of a regular file to `take` piece by piece, in little memory; throws as read_file does.
void read_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& take);

// Appends whole pieces of text to a file, each with one write(2). If a piece does not fit, its part is removed, so the
// file never ends within a row, and the call throws instead of printing a line on the console.
class AppendFile {
 public:
  // Creates the file, or opens it at its end. Throws UserError kDevice.
  explicit AppendFile(std::filesystem::path path);

  // Throws UserError kDevice ("<path>: cannot write: No space left on device"); the file is then the same as before the
  // call.
  void append(std::string_view text);

  // Calls fsync, so that a full disk which the system detected late is an error here. Throws UserError kDevice.
  void sync();

  bool is_empty() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
};

// The version of the files that this program writes: summary.json, environment.json, epochs.jsonl, checkpoints, sweeps
// and benchmarks share one number. Files of versions 1 and 2 can still be read, and files of this version will be. A
// new field names the version that introduced it (base/fields.h); a kind of file that changes in a different way gets a
// separate reader for its older versions. The folder tests/stored has files of each version.
inline constexpr int64_t kFileVersion = 3;

}  // namespace rnnlab
