// SPDX-License-Identifier: Apache-2.0
#include "base/system/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <regex>
#include <system_error>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/file_handles.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/regular_file.h"
#include "base/text.h"

namespace rnnlab {
namespace {

std::string remedy_of(int error_number) {
  if (is_limit_on_handles(error_number)) return std::string("; ") + kMoreHandles;
  if (error_number == ENOSPC || error_number == EDQUOT) return "; free some space or write to another disk";
  if (error_number == EFBIG) return "; raise the limit on the size of files (ulimit -f)";
  if (error_number == EPERM) return "; `lsattr` shows whether it is protected";
  return "";
}

}  // namespace

// Without O_NONBLOCK, opening a FIFO would wait for its reader.
FileDescriptor open_for_writing(const std::filesystem::path& path, int flags) {
  constexpr mode_t kReadWriteForAll = 0666;
  FileDescriptor descriptor(uninterrupted(
      [&] { return ::open(path.c_str(), flags | O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, kReadWriteForAll); }));
  if (!descriptor.is_open() && errno != ENXIO) throw_system_error(path, "open for writing", errno);
  struct stat status {};
  if (!descriptor.is_open() || (::fstat(descriptor.number(), &status) == 0 && S_ISFIFO(status.st_mode)))
    throw_error(ExitCode::kDevice, "{}: is a pipe or a socket, expected a file to write; remove it", path.string());
  return descriptor;
}

size_t write_some(int number, std::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = uninterrupted([&] { return ::write(number, text.data() + done, text.size() - done); });
    if (written < 0) break;
    done += static_cast<size_t>(written);
  }
  return done;
}

void throw_system_error(const std::filesystem::path& path, std::string_view verb, int error_number) {
  const std::string reason = std::generic_category().message(error_number);
  throw_error(ExitCode::kDevice, "{}: cannot {}: {}{}", path.string(), verb, reason, remedy_of(error_number));
}

namespace {

constexpr const char* kRemedy = "restore it, or train again";

void write_and_sync(const FileDescriptor& descriptor, const std::filesystem::path& path,
                    std::span<const std::string_view> pieces) {
  for (const std::string_view piece : pieces)
    if (write_some(descriptor.number(), piece) != piece.size()) throw_system_error(path, "write", errno);
  if (uninterrupted([&] { return ::fsync(descriptor.number()); }) != 0) throw_system_error(path, "write", errno);
}

// A long name is cut, because the name of the temporary file must not exceed the file system's limit.
std::string temporary_name(const std::string& name) {
  constexpr size_t kMostBytes = 200;
  return fmt::format(".{}.{}.tmp", name.substr(0, kMostBytes), ::getpid());
}

// Returns true for the temporary files of any process.
bool is_temporary_name(const std::string& name) {
  static const std::regex kPattern(R"(\..+\.[0-9]+\.tmp)");
  return std::regex_match(name, kPattern);
}

// Owns a temporary file, and removes the file unless it was renamed.
class TemporaryFile {
 public:
  TemporaryFile(std::filesystem::path path, FileDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  ~TemporaryFile() {
    if (!renamed_) uninterrupted([&] { return ::unlink(path_.c_str()); });
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return descriptor_.number(); }
  void replace(const std::filesystem::path& target, std::span<const std::string_view> pieces) {
    write_and_sync(descriptor_, path_, pieces);
    if (uninterrupted([&] { return ::rename(path_.c_str(), target.c_str()); }) != 0)
      throw_system_error(target, "replace", errno);
    renamed_ = true;
    sync_folder(folder_of(target));
  }

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  bool renamed_ = false;
};

// ---- files that the user named ----

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// If a different file replaced such a file, later output would go to a file without a name.
bool receives_a_stream(const struct stat& file) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(stream, &status) == 0 && is_same_file(file, status)) return true;
  }
  return false;
}

void require_ordinary(const std::filesystem::path& path, const struct stat& status, std::string_view advice) {
  if (!S_ISREG(status.st_mode))
    throw_error(ExitCode::kUsage, "{}: is {}, expected a file to write; {}", path.string(),
                kind_of_special_file(status.st_mode), advice);
  if (receives_a_stream(status))
    throw_error(ExitCode::kUsage, "{}: is the target of standard output or standard error; {}", path.string(), advice);
}

bool may_write(const std::filesystem::path& path, int access) {
  return ::faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) == 0;
}

void require_writable_folder(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (!is_folder(folder))
    throw_error(ExitCode::kUsage, "{}: the folder {} does not exist; create it, or choose a different one",
                path.string(), in_quotes(folder.string()));
  if (!may_write(folder, W_OK | X_OK))
    throw_error(ExitCode::kUsage, "{}: cannot write into the folder {}: {}; choose another folder", path.string(),
                in_quotes(folder.string()), std::generic_category().message(errno));
}

// In a folder such as /tmp only root, the owner of a file and the owner of the folder may replace the file.
bool is_kept_by_sticky_folder(const std::filesystem::path& folder, const struct stat& file) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || (status.st_mode & S_ISVTX) == 0) return false;
  const uid_t user = ::geteuid();
  return user != 0 && user != file.st_uid && user != status.st_uid;
}

// Returns the end of a chain of links that stat(2) has followed without an error.
std::filesystem::path end_of_links(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error)
    throw_error(ExitCode::kUsage, "{}: cannot follow the link: {}; name another file", path.string(), error.message());
  return target;
}

std::optional<struct stat> status_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT && errno != ENOTDIR)
    throw_error(ExitCode::kUsage, "{}: cannot write it: {}; name another file", path.string(),
                std::generic_category().message(errno));
  return std::nullopt;
}

// Makes a file in the folder of `target`, under a free name; files of killed processes are left unchanged.
TemporaryFile make_temporary_file(const std::filesystem::path& target, mode_t mode) {
  constexpr int kMostTries = 100;
  const std::string name = temporary_name(target.filename().string());
  std::filesystem::path path;
  for (int number = 1; number <= kMostTries; ++number) {
    path = folder_of(target) / (number == 1 ? name : fmt::format("{}.{}.tmp", name, number));
    FileDescriptor descriptor(uninterrupted(
        [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode); }));
    if (descriptor.is_open()) return {std::move(path), std::move(descriptor)};
    if (errno != EEXIST) break;
  }
  throw_system_error(path, "open for writing", errno);
}

// A root user without all rights (in a user namespace, on NFS with root_squash) may be unable to keep the owner; the
// file is then written anyway. The mode is set last, because fchown(2) clears some of its bits.
void take_over_rights(int descriptor, const std::filesystem::path& path, const struct stat& replaced) {
  mode_t mode = replaced.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  struct stat own {};
  if (::fstat(descriptor, &own) != 0) throw_system_error(path, "read its status", errno);
  if (own.st_uid != replaced.st_uid && ::geteuid() == 0)
    std::ignore = ::fchown(descriptor, replaced.st_uid, static_cast<gid_t>(-1));
  const bool is_group_kept =
      own.st_gid == replaced.st_gid || ::fchown(descriptor, static_cast<uid_t>(-1), replaced.st_gid) == 0;
  if (!is_group_kept) mode &= ~static_cast<mode_t>(S_IRWXG);
  if (::fchmod(descriptor, mode) != 0) throw_system_error(path, "keep its mode", errno);
}

[[noreturn]] void throw_unreadable(const std::filesystem::path& path, int error_number) {
  const bool is_missing = error_number == ENOENT || error_number == ENOTDIR;
  if (is_limit_on_handles(error_number)) throw_system_error(path, "read", error_number);
  throw_error(ExitCode::kData, "{}: cannot read: {}; {}", path.string(), reason_of(error_number),
              is_missing ? kRemedy : "make it readable, and run the same command again");
}

FileDescriptor open_regular_file(const std::filesystem::path& path) {
  RegularFile file(path);
  if (file.is_open()) return file.take_descriptor();
  if (file.error_number() != 0) throw_unreadable(path, file.error_number());
  throw_error(ExitCode::kData, "{}: not a regular file; {}", path.string(), kRemedy);
}

// Returns 0 at the end of the file, or if `room` is empty.
size_t read_some(const FileDescriptor& descriptor, const std::filesystem::path& path, std::span<char> room) {
  const ssize_t got = uninterrupted([&] { return ::read(descriptor.number(), room.data(), room.size()); });
  if (got < 0) throw_unreadable(path, errno);
  return static_cast<size_t>(got);
}

// The log of a run may grow while it is read, but reading a file that grows as fast as it is read would never end.
// Files of the system, such as /proc/self/pagemap, have no size.
uint64_t most_bytes_of(const FileDescriptor& descriptor) {
  constexpr uint64_t kMostGrowth = uint64_t{64} << 20;
  struct stat status {};
  return kMostGrowth + (::fstat(descriptor.number(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0);
}

// Reserves the memory once, because growing the string would hold the text twice.
void reserve_for(std::string& text, const std::filesystem::path& path, int64_t max_bytes) {
  const auto num_bytes = num_bytes_of(path);
  if (!num_bytes || *num_bytes > max_bytes) return;
  try {
    text.reserve(static_cast<size_t>(*num_bytes));
  } catch (const std::bad_alloc&) {
    throw_error(ExitCode::kData, "{}: its {} do not fit into memory", path.string(), format_bytes(*num_bytes));
  }
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::span(&text, 1));
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces) {
  const std::filesystem::path temporary = folder_of(path) / temporary_name(path.filename().string());
  TemporaryFile(temporary, open_for_writing(temporary, O_CREAT | O_TRUNC | O_NOFOLLOW)).replace(path, pieces);
}

std::filesystem::path resolve_output_file(const std::filesystem::path& path, std::string_view advice) {
  const std::optional<struct stat> status = status_of(path);
  if (status) require_ordinary(path, *status, advice);
  const std::filesystem::path link = link_target(path);
  if (!link.empty() && !status)
    throw_error(ExitCode::kUsage, "{}: is a link to {}, which is missing; create that file, or remove the link",
                path.string(), in_quotes(link.string(), 200));
  const std::filesystem::path target = link.empty() ? path : end_of_links(path);
  require_writable_folder(path, folder_of(target));
  if (status && is_kept_by_sticky_folder(folder_of(target), *status))
    throw_error(ExitCode::kUsage, "{}: only its owner may replace it in a folder such as {}; name another file",
                path.string(), in_quotes(folder_of(target).string()));
  if (status && !may_write(target, W_OK))
    throw_error(ExitCode::kUsage, "{}: cannot write it: {}; change its mode, or name another file", path.string(),
                std::generic_category().message(errno));
  return target;
}

void refuse_link(const std::filesystem::path& path) {
  if (!link_target(path).empty())
    throw_error(ExitCode::kUsage, "{}: is a link, expected a file; remove it, or name another place", path.string());
}

void write_output_file(const std::filesystem::path& path, std::string_view text) {
  write_output_file(path, std::span(&text, 1));
}

void write_output_file(const std::filesystem::path& path, std::span<const std::string_view> pieces) {
  const std::filesystem::path target = resolve_output_file(path);
  const std::optional<struct stat> replaced = status_of(target);
  TemporaryFile file = make_temporary_file(target, replaced ? 0600U : 0666U);
  if (replaced) take_over_rights(file.descriptor(), target, *replaced);
  file.replace(target, pieces);
}

void remove_file(const std::filesystem::path& path) {
  if (uninterrupted([&] { return ::unlink(path.c_str()); }) != 0 && errno != ENOENT)
    throw_system_error(path, "remove", errno);
}

void remove_temporary_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored); entry != end(entry); entry.increment(ignored))
    if (is_temporary_name(entry->path().filename().string())) files.push_back(entry->path());
  for (const std::filesystem::path& file : files) uninterrupted([&] { return ::unlink(file.c_str()); });
}

void write_new_file(const std::filesystem::path& path, std::span<const std::string_view> pieces) {
  write_and_sync(open_for_writing(path, O_CREAT | O_EXCL), path, pieces);
}

void sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor descriptor(
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!descriptor.is_open()) throw_system_error(folder, "open", errno);
  // Some file systems do not support fsync of a folder (EINVAL), and do not need it.
  if (uninterrupted([&] { return ::fsync(descriptor.number()); }) != 0 && errno != EINVAL)
    throw_system_error(folder, "write", errno);
}

std::string read_file(const std::filesystem::path& path, int64_t max_bytes) {
  std::string text;
  reserve_for(text, path, max_bytes);
  read_pieces(path, [&](std::string_view piece) {
    text += piece;
    if (static_cast<int64_t>(text.size()) > max_bytes)
      throw_error(ExitCode::kData, "{}: larger than {}, the most that such a file may hold; {}", path.string(),
                  format_bytes(max_bytes), kRemedy);
  });
  return text;
}

void read_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& take) {
  const FileDescriptor descriptor = open_regular_file(path);
  std::array<char, 1 << 16> buffer;
  uint64_t left = most_bytes_of(descriptor);
  while (const size_t got = read_some(descriptor, path, buffer)) {
    if (got > left)
      throw_error(ExitCode::kData, "{}: grows while it is read; wait until nothing writes to it", path.string());
    left -= got;
    take({buffer.data(), got});
  }
}

std::string read_beginning(const std::filesystem::path& path, size_t num_bytes) {
  const FileDescriptor descriptor = open_regular_file(path);
  std::string text(num_bytes, '\0');
  size_t done = 0;
  while (const size_t got = read_some(descriptor, path, std::span(text).subspan(done))) done += got;
  text.resize(done);
  return text;
}

namespace {

off_t size_of(int number) {
  struct stat status {};
  return ::fstat(number, &status) == 0 ? status.st_size : -1;
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path)
    : path_(std::move(path)), descriptor_(open_for_writing(path_, O_CREAT | O_APPEND)) {}

void AppendFile::append(std::string_view text) {
  const off_t size_before = size_of(descriptor_.number());
  if (write_some(descriptor_.number(), text) == text.size()) return;
  const int error_number = errno;
  // The result is ignored, because the failed write is reported anyway.
  [[maybe_unused]] const bool is_taken_back = size_before >= 0 && ::ftruncate(descriptor_.number(), size_before) == 0;
  throw_system_error(path_, "write", error_number);
}

void AppendFile::sync() {
  // EINVAL means a device or pipe, which cannot be synced.
  if (uninterrupted([&] { return ::fsync(descriptor_.number()); }) != 0 && errno != EINVAL)
    throw_system_error(path_, "write", errno);
}

bool AppendFile::is_empty() const { return size_of(descriptor_.number()) == 0; }

}  // namespace rnnlab
