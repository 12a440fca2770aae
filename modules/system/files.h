// Files as this program writes them: whole or not at all, durable where it matters, with an error that names the path.
// What a file means is left to those who read it.
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

namespace rnnlab {

// A file descriptor that closes itself, and the checked system calls that the writers of results share.
// A failed call becomes UserError kDevice with the path and the system's reason.

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Makes a system call again while it is interrupted (EINTR).
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// open(2) with O_CLOEXEC, again after EINTR; mode 0666 less the umask.
FileDescriptor open_for_writing(const std::filesystem::path& path, int flags);

// How much of `text` was written; the whole unless errno says why not. Goes on after EINTR and short writes.
size_t write_some(int number, std::string_view text);

// "<path>: cannot <verb>: <reason of errno>", with what to do about a full disk or a limit.
[[noreturn]] void throw_system_error(const std::filesystem::path& path, std::string_view verb, int error_number);

// Whole files: written atomically, read with a cap. A reader of a file written here sees the old text or the new one,
// never a part, whatever fails in between. There are two kinds of files to write:
// - a file of a run folder, whose name is rnnlab's own: a link in its place is never followed (write_file_atomically);
// - a file that the user named: a link is followed to the file that it names (write_output_file).
// Left out: data sets (what is written or read is held in memory); of a file that is replaced, its extended attributes,
// access control lists and other hard links.

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

// A file that grows by whole pieces of text, one write(2) each. A piece that does not fit is taken back, so the file
// never ends in half a row, and the failure is an error, not a line on the console.

class AppendFile {
 public:
  // Creates the file, or goes on at its end. UserError kDevice.
  explicit AppendFile(std::filesystem::path path);

  // UserError kDevice ("<path>: cannot write: No space left on device"); the file then stands as before the call.
  void append(std::string_view text);

  // fsync: a full disk that the system noticed late is an error here. UserError kDevice.
  void sync();

  bool is_empty() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
};

}  // namespace rnnlab
