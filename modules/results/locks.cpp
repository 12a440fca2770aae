#include "results/locks.h"

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

FileDescriptor open_folder(const fs::path& folder) {
  FileDescriptor descriptor(
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  if (descriptor.is_open()) return descriptor;
  if (errno == ELOOP || errno == ENOTDIR)
    throw_error(ExitCode::kDevice, "{}: is a link or a file, expected a folder; remove it", folder.string());
  throw_system_error(folder, "open", errno);
}

// For writing, though nothing is written: network file systems give an exclusive lock on no other.
FileDescriptor open_file(const fs::path& path) {
  FileDescriptor descriptor(
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666); }));
  if (!descriptor.is_open()) throw_system_error(path, "open", errno);
  return descriptor;
}

bool has_no_locks(int error_number) {
  return error_number == ENOLCK || error_number == ENOSYS || error_number == EOPNOTSUPP;
}

// "the file system nfs4 at /home", by what the system says of its mounts.
std::string file_system_of(const FileDescriptor& descriptor) {
  struct stat status {};
  ::fstat(descriptor.number(), &status);
  const std::string device = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // 36 35 98:0 /root /mount-point options - type source options
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (fields.size() > 4 && fields[2] == device && std::distance(dash, fields.end()) > 1)
      return fmt::format("the file system {} at {}", dash[1], fields[4]);
  }
  return "its file system";
}

// Whether it is held now; not where another process has it and nobody waits.
bool take(const FileDescriptor& descriptor, const fs::path& path, WhenTaken when_taken, std::string& warning) {
  const int operation = when_taken == WhenTaken::kWait ? LOCK_EX : LOCK_EX | LOCK_NB;
  if (uninterrupted([&] { return ::flock(descriptor.number(), operation); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  if (!has_no_locks(errno)) throw_system_error(path, "lock", errno);
  const std::string reason = std::generic_category().message(errno);
  warning = fmt::format(
      "{}: {} has no locks ({}): a second process at work here would not be noticed and could damage it; do "
      "not start another process there",
      path.string(), file_system_of(descriptor), reason);
  return true;
}

// Whoever held the lock before may have removed its file since it was opened here.
bool is_still(const fs::path& path, const FileDescriptor& descriptor) {
  struct stat named {};
  struct stat opened {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor.number(), &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

fs::path lock_of(const fs::path& file) { return file.parent_path() / ("." + file.filename().string() + ".lock"); }

}  // namespace

FolderLock::FolderLock(const fs::path& folder, WhenTaken when_taken) : descriptor_(open_folder(folder)) {
  if (take(descriptor_, folder, when_taken, warning_)) return;
  throw_error(ExitCode::kDevice, "{}: another process is at work in this folder; wait for it, or end it",
              folder.string());
}

FileLock::FileLock(const fs::path& file) : path_(lock_of(file)) {
  do {
    descriptor_ = open_file(path_);
    if (!take(descriptor_, path_, WhenTaken::kRefuse, warning_))
      throw_error(ExitCode::kDevice, "{}: another process is at work on it; wait for it, or end it", file.string());
  } while (!is_still(path_, descriptor_));
}

FileLock::~FileLock() {
  std::error_code ignored;  // one that stays is taken by the next
  fs::remove(path_, ignored);
}

}  // namespace rnnlab
