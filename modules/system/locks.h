// What one process at a time changes: a folder, or a file that is replaced whenever it changes. Each has a lock file,
// which goes with the lock. The system releases a lock when its process ends, however it ends, so a lock never has to
// be cleared by hand, and a lock file that stays behind locks nothing. If the file system has no locks, a lock is taken
// all the same, and its warning() says so.
// Left out: processes that reach a folder through two mounts of a file system whose locks are of one mount only, such
// as sshfs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "system/files.h"

namespace rnnlab {

enum class WhenTaken { kWait, kRefuse };

class LockFile {
 public:
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // "<locked>: the file system nfs4 at /home has no locks (...): ..."; "" if it has them.
  const std::string& warning() const { return warning_; }

 protected:
  // UserError kDevice where the file cannot be made (links are not followed), or, with kRefuse, where another process
  // holds the lock: "<locked>: another process is at work in this folder", with `where` = "in this folder".
  LockFile(std::filesystem::path path, WhenTaken when_taken, const std::filesystem::path& locked,
           std::string_view where);
  ~LockFile();

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::string warning_;
};

// By a file `.lock` in it. A network file system tells its other clients of locks of files, but not of folders.
class FolderLock : public LockFile {
 public:
  // UserError kDevice also where `folder` is no folder (links are not followed).
  FolderLock(const std::filesystem::path& folder, WhenTaken when_taken);
};

// By a file `.<name>.lock` beside it. Refuses where another process holds it.
class FileLock : public LockFile {
 public:
  explicit FileLock(const std::filesystem::path& file);
};

}  // namespace rnnlab
