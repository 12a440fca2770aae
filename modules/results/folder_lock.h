// A folder that one process at a time changes. The system gives it free when the process ends, however it ends, so a
// lock never has to be cleared by hand. Where the file system has no locks, processes are trusted to stay apart.
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

}  // namespace rnnlab
