#include "results/locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"

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

// Whether it is held now; not where another process has it and nobody waits.
bool take(const FileDescriptor& descriptor, const fs::path& path, WhenTaken when_taken) {
  const int operation = when_taken == WhenTaken::kWait ? LOCK_EX : LOCK_EX | LOCK_NB;
  if (uninterrupted([&] { return ::flock(descriptor.number(), operation); }) == 0 || has_no_locks(errno)) return true;
  if (errno == EWOULDBLOCK) return false;
  throw_system_error(path, "lock", errno);
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
  if (take(descriptor_, folder, when_taken)) return;
  throw_error(ExitCode::kDevice, "{}: another process is at work in this folder; wait for it, or end it",
              folder.string());
}

FileLock::FileLock(const fs::path& file) : path_(lock_of(file)) {
  do {
    descriptor_ = open_file(path_);
    if (!take(descriptor_, path_, WhenTaken::kRefuse))
      throw_error(ExitCode::kDevice, "{}: another process is at work on it; wait for it, or end it", file.string());
  } while (!is_still(path_, descriptor_));
}

FileLock::~FileLock() {
  std::error_code ignored;  // one that stays is taken by the next
  fs::remove(path_, ignored);
}

}  // namespace rnnlab
