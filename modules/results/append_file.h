// A file that grows by whole pieces of text, one write(2) each. A piece that does not fit is taken back, so the file
// never ends in half a row, and the failure is an error, not a line on the console.
#pragma once

#include <filesystem>
#include <string_view>

#include "results/file_descriptor.h"

namespace rnnlab {

class AppendFile {
 public:
  // Creates the file, or goes on at its end. UserError kDevice.
  explicit AppendFile(std::filesystem::path path);

  // UserError kDevice ("<path>: cannot write: No space left on device"); the file then stands as before the call.
  void append(std::string_view text);

  // fsync: a full disk that the system noticed late is an error here. UserError kDevice.
  void sync();

  bool is_empty() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
};

}  // namespace rnnlab
