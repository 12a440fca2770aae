// SPDX-License-Identifier: Apache-2.0
// Locks a folder, or a file that is replaced whenever it changes, so that one process at a time can change it. Each
// lock has a lock file, which is removed with the lock. The system releases a lock when its process ends for any
// reason, so a lock never has to be removed by hand, and a remaining lock file locks nothing. If the file system has no
// locks, the constructor succeeds anyway, and warning() says so. Left out: processes that reach a folder through two
// mounts of a file system whose locks belong to one mount only, such as sshfs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/system/files.h"

namespace rnnlab {

enum class WhenTaken {
  kWait,
  kRefuse,       // with kDevice
  kRefuseAtWork  // with kAtWorkElsewhere, so that a scheduler can tell it from a failure
};

class LockFile {
 public:
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // Returns "<locked>: the file system nfs4 at /home has no locks (...): ...", or "" if the file system has locks.
  const std::string& warning() const { return warning_; }

 protected:
  // Throws UserError kDevice if the file cannot be made (links are not followed). If a different process holds the lock
  // and `when_taken` is not kWait: "<locked>: another process uses this folder", with `where` = "this folder".
  LockFile(std::filesystem::path path, WhenTaken when_taken, const std::filesystem::path& locked,
           std::string_view where);
  ~LockFile();

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::string warning_;
};

// Locks a folder by a file `.lock` in it, because a network file system shares locks of files with its other clients,
// but not locks of folders.
class FolderLock : public LockFile {
 public:
  // Throws UserError kDevice also if `folder` is not a folder (links are not followed).
  FolderLock(const std::filesystem::path& folder, WhenTaken when_taken);
};

// Returns whether a process holds the lock of `folder` now. Changes no files; false also if the file system has no
// locks.
bool is_locked(const std::filesystem::path& folder);

// Locks a file by a file `.<name>.lock` in the same folder. Throws if another process holds the lock.
class FileLock : public LockFile {
 public:
  explicit FileLock(const std::filesystem::path& file);
};

}  // namespace rnnlab
