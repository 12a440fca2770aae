// SPDX-License-Identifier: Apache-2.0
#include "scripts/script_box.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <regex>
#include <stdexcept>

namespace rnnlab {
namespace fs = std::filesystem;
namespace {

// What the scripts use that every Linux has. What a machine may lack, or may refuse, stays out: a test puts it in.
constexpr std::array kPlainTools = {"awk",   "bash", "basename",  "cat",   "chmod",  "dirname", "env",   "du",
                                    "flock", "grep", "ln",        "mkdir", "mktemp", "nproc",   "paste", "realpath",
                                    "rm",    "sed",  "sha256sum", "tail",  "tee",    "touch"};

fs::path find_tool(const std::string& name) {
  for (const char* folder : {"/usr/bin", "/bin"}) {
    if (fs::exists(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  throw std::runtime_error("no " + name + " on this machine");
}

}  // namespace

ScriptBox::ScriptBox() {
  fs::copy(fs::path(RNNLAB_SOURCE_DIR) / "scripts", folder_ / "scripts", fs::copy_options::recursive);
  fs::create_directory(folder_ / "bin");
  for (const char* tool : kPlainTools) fs::create_symlink(find_tool(tool), folder_ / "bin" / tool);
}

void ScriptBox::command(const std::string& name, const std::string& shell_text) const {
  file("bin/" + name, "#!/bin/bash\n" + shell_text + "\n");
  fs::permissions(folder_ / "bin" / name, fs::perms::owner_all);
}

void ScriptBox::file(const std::string& path, const std::string& content) const {
  fs::remove(folder_ / path);
  testing::write_text(folder_ / path, content);
}

void ScriptBox::remove(const std::string& path) const { fs::remove_all(folder_ / path); }

bool ScriptBox::exists(const std::string& path) const { return fs::exists(folder_ / path); }

std::string ScriptBox::text(const std::string& path) const { return testing::read_text(folder_ / path); }

ScriptResult ScriptBox::run(const std::string& command_line) const {
  const std::string box = folder_.string();
  const std::string line =
      fmt::format("cd {0} && env -i HOME={0} TMPDIR={0} PATH={0}/bin {1} 2>&1 </dev/null", box, command_line);
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), pclose);
  std::string output;
  std::array<char, 4096> buffer{};
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe.get())) output.append(buffer.data(), count);
  const int status = pclose(pipe.release());
  // Names that mktemp draws differ from run to run.
  static const std::regex drawn_name(R"(BOX/tmp\.\w{10})");
  const std::string text = std::regex_replace(testing::replaced(output, box, "BOX"), drawn_name, "BOX/tmp");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace rnnlab
