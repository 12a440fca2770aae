// What one process at a time changes: a folder, or a file that is replaced whenever it changes. The system gives it
// free when the process ends, however it ends, so a lock never has to be cleared by hand. Where the file system has no
// locks, processes are trusted to stay apart.
#pragma once

#include <filesystem>

#include "results/file_descriptor.h"

namespace rnnlab {

enum class WhenTaken { kWait, kRefuse };

class FolderLock {
 public:
  // UserError kDevice where it is no folder or cannot be opened (links are not followed), or, with kRefuse, where
  // another process holds it.
  FolderLock(const std::filesystem::path& folder, WhenTaken when_taken);

 private:
  FileDescriptor descriptor_;
};

// By a file `.<name>.lock` beside it, which goes with the lock.
class FileLock {
 public:
  // UserError kDevice where that file cannot be made (links are not followed), or where another process holds it.
  explicit FileLock(const std::filesystem::path& file);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
};

}  // namespace rnnlab
