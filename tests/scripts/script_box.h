// SPDX-License-Identifier: Apache-2.0
// A folder with a copy of scripts/, and a PATH with only the commands of a test, so that a test can imitate a machine
// with missing or failing commands. Nothing outside of the folder is changed or downloaded.
#pragma once

#include <filesystem>
#include <string>

#include "base/system/temporary_folder.h"

namespace rnnlab {

struct ScriptResult {
  int exit_code = 0;
  std::string output;  // stdout and stderr in their order; the box's folder is replaced by BOX
};

class ScriptBox {
 public:
  ScriptBox();

  // Adds a command with this shell text.
  void command(const std::string& name, const std::string& shell_text) const;
  // Writes a file and makes its folders if needed; `path` is relative to the box.
  void file(const std::string& path, const std::string& content) const;
  void remove(const std::string& path) const;
  bool exists(const std::string& path) const;
  std::string text(const std::string& path) const;
  // Runs a command line in the box, which may begin with NAME=VALUE words.
  ScriptResult run(const std::string& command_line) const;

 private:
  testing::TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

}  // namespace rnnlab
