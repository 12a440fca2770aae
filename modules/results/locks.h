// What one process at a time changes: a folder, or a file that is replaced whenever it changes. The system gives it
// free when the process ends, however it ends, so a lock never has to be cleared by hand. If the file system has no
// locks, a lock is taken all the same, and its warning() says so.
#pragma once

#include <filesystem>
#include <string>

#include "results/file_descriptor.h"

namespace rnnlab {

enum class WhenTaken { kWait, kRefuse };

class FolderLock {
 public:
  // UserError kDevice where it is no folder or cannot be opened (links are not followed), or, with kRefuse, where
  // another process holds it.
  FolderLock(const std::filesystem::path& folder, WhenTaken when_taken);

  // "<folder>: the file system nfs4 at /home has no locks (...): ..."; "" if it has them.
  const std::string& warning() const { return warning_; }

 private:
  FileDescriptor descriptor_;
  std::string warning_;
};

// By a file `.<name>.lock` beside it, which goes with the lock.
class FileLock {
 public:
  // UserError kDevice where that file cannot be made (links are not followed), or where another process holds it.
  explicit FileLock(const std::filesystem::path& file);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  const std::string& warning() const { return warning_; }

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::string warning_;
};

}  // namespace rnnlab
