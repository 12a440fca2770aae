#include "results/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "base/error.h"

namespace rnnlab {
namespace {

FileDescriptor open_folder(const std::filesystem::path& folder) {
  FileDescriptor descriptor(
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  if (descriptor.is_open()) return descriptor;
  if (errno == ELOOP || errno == ENOTDIR)
    throw_error(ExitCode::kDevice, "{}: is a link or a file, expected a folder; remove it", folder.string());
  throw_system_error(folder, "open", errno);
}

bool has_no_locks(int error_number) {
  return error_number == ENOLCK || error_number == ENOSYS || error_number == EOPNOTSUPP;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, WhenTaken when_taken) : descriptor_(open_folder(folder)) {
  const int operation = when_taken == WhenTaken::kWait ? LOCK_EX : LOCK_EX | LOCK_NB;
  if (uninterrupted([&] { return ::flock(descriptor_.number(), operation); }) == 0 || has_no_locks(errno)) return;
  if (errno == EWOULDBLOCK)
    throw_error(ExitCode::kDevice, "{}: another process is at work in this folder; wait for it, or end it",
                folder.string());
  throw_system_error(folder, "lock", errno);
}

}  // namespace rnnlab
