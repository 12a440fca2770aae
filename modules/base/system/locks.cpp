// SPDX-License-Identifier: Apache-2.0
#include "base/system/locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderLockFile = ".lock";

// Returns the lock file of a folder. Links are not followed, because a run must be in its own folder.
fs::path lock_in(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(folder, error);
  if (fs::is_directory(status)) return folder / kFolderLockFile;
  if (fs::exists(status))
    throw_error(ExitCode::kDevice, "{}: is a link or a file, expected a folder; remove it", folder.string());
  throw_system_error(folder, "open", error ? error.value() : ENOENT);
}

fs::path lock_beside(const fs::path& file) { return file.parent_path() / ("." + file.filename().string() + ".lock"); }

// Opens a lock file that this user may only read, because a killed process of a different user left it. A local file
// system can lock such a file nevertheless.
FileDescriptor open_file_of_another(const fs::path& path) {
  FileDescriptor descriptor(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); }));
  if (!descriptor.is_open()) throw_system_error(path, "make", EACCES);
  return descriptor;
}

// The file is opened for writing, because network file systems give an exclusive lock only on files that may be
// written.
FileDescriptor open_file(const fs::path& path) {
  FileDescriptor descriptor(
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666); }));
  if (descriptor.is_open()) return descriptor;
  if (errno == ELOOP) throw_error(ExitCode::kDevice, "{}: is a link, expected a file; remove it", path.string());
  if (errno == EACCES) return open_file_of_another(path);
  throw_system_error(path, "make", errno);
}

bool has_no_locks(int error_number) {
  return error_number == ENOLCK || error_number == ENOSYS || error_number == EOPNOTSUPP;
}

// Returns for example "the file system nfs4 at /home", from the system's table of mounts.
std::string file_system_of(const FileDescriptor& descriptor) {
  struct stat status {};
  ::fstat(descriptor.number(), &status);
  const std::string device = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // This is an example of a line: 36 35 98:0 /root /mount-point options - type source options
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (fields.size() > 4 && fields[2] == device && std::distance(dash, fields.end()) > 1)
      return fmt::format("the file system {} at {}", dash[1], fields[4]);
  }
  return "its file system";
}

// Returns whether this process holds the lock now: false if another process holds it and `when_taken` is not kWait.
bool take(const FileDescriptor& descriptor, const fs::path& locked, WhenTaken when_taken, std::string& warning) {
  const int operation = when_taken == WhenTaken::kWait ? LOCK_EX : LOCK_EX | LOCK_NB;
  if (uninterrupted([&] { return ::flock(descriptor.number(), operation); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  if (!has_no_locks(errno)) throw_system_error(locked, "lock", errno);
  const std::string reason = std::generic_category().message(errno);
  warning = fmt::format(
      "{}: {} does not support locks ({}): a second process here would not be detected and could damage it; do not "
      "start one",
      locked.string(), file_system_of(descriptor), reason);
  return true;
}

// Returns whether `path` still names the opened file: the process that held the lock before may have removed it.
bool is_still(const fs::path& path, const FileDescriptor& descriptor) {
  struct stat named {};
  struct stat opened {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor.number(), &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

}  // namespace

LockFile::LockFile(fs::path path, WhenTaken when_taken, const fs::path& locked, std::string_view where)
    : path_(std::move(path)) {
  constexpr int kMostTries = 100;  // on some file systems a file has a different identity at each call
  for (int i = 0; i < kMostTries && !is_still(path_, descriptor_); ++i) {
    descriptor_ = open_file(path_);
    if (!take(descriptor_, locked, when_taken, warning_))
      throw_error(when_taken == WhenTaken::kRefuse ? ExitCode::kDevice : ExitCode::kAtWorkElsewhere,
                  "{}: another process uses {}; wait until it ends, or stop it", locked.string(), where);
  }
}

LockFile::~LockFile() {
  std::error_code ignored;  // the next process can lock a file that remains
  if (is_still(path_, descriptor_)) fs::remove(path_, ignored);
}

FolderLock::FolderLock(const fs::path& folder, WhenTaken when_taken)
    : LockFile(lock_in(folder), when_taken, folder, "this folder") {}

// A shared lock is enough for the question, and a user who may only read the file can ask for it.
bool is_locked(const fs::path& folder) {
  const fs::path path = folder / kFolderLockFile;
  const FileDescriptor file(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK); }));
  if (!file.is_open()) return false;
  return uninterrupted([&] { return ::flock(file.number(), LOCK_SH | LOCK_NB); }) != 0 && errno == EWOULDBLOCK;
}

FileLock::FileLock(const fs::path& file) : LockFile(lock_beside(file), WhenTaken::kRefuse, file, "this file") {}

}  // namespace rnnlab
