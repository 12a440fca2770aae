// A folder with a copy of scripts/, and a PATH that holds only what a test puts there: so a test can play a machine
// that lacks something, or whose commands fail. Nothing outside the folder is changed, and nothing is fetched.
#pragma once

#include <filesystem>
#include <string>

namespace rnnlab {

struct ScriptResult {
  int exit_code = 0;
  std::string output;  // stdout and stderr, as they came; the box's own folder reads BOX
};

class ScriptBox {
 public:
  ScriptBox();
  ~ScriptBox();
  ScriptBox(const ScriptBox&) = delete;
  ScriptBox& operator=(const ScriptBox&) = delete;

  // A command that is this shell text.
  void command(const std::string& name, const std::string& shell_text) const;
  // A file, its folders made as needed; `path` is seen from the box.
  void file(const std::string& path, const std::string& content) const;
  void remove(const std::string& path) const;
  bool exists(const std::string& path) const;
  std::string text(const std::string& path) const;
  // A command line, run in the box; NAME=VALUE words may stand before it.
  ScriptResult run(const std::string& command_line) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace rnnlab
