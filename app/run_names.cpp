// SPDX-License-Identifier: Apache-2.0
#include "run_names.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "arguments.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "results/run_folder.h"

namespace rnnlab::app {
namespace {

namespace fs = std::filesystem;

// "/x", "./x" and "../x" are paths only.
bool can_be_name(const std::string& text) { return !text.empty() && text[0] != '/' && text[0] != '.'; }

// Returns the folders beside the missing one, spelt as the user spells it: "runs/weather" for "runs/wether".
std::vector<std::string> folders_beside(const fs::path& missing, const fs::path& spelt) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const std::string& name : sibling_names(missing))
    if (fs::is_directory(missing.parent_path() / name, ignored)) found.push_back((spelt.parent_path() / name).string());
  return found;
}

[[noreturn]] void refuse_missing(const std::string& name, const std::string& out) {
  std::vector<std::string> near = folders_beside(name, name);
  std::string places = "no such file or folder";
  if (const fs::path below = fs::path(out) / name;
      can_be_name(name) && (!fs::path(name).has_parent_path() || path_exists(below.parent_path()))) {
    places += fmt::format(", and no {}", below.string());
    for (const std::string& one : folders_beside(below, name)) add_once(near, one);
  }
  throw_error(ExitCode::kUsage, "{}: {}{}; pass the folder of a run, or the name of an experiment in {}", name, places,
              did_you_mean(name, near), out);
}

}  // namespace

std::string named_path(const std::string& name, const std::string& out) {
  if (path_exists(name)) return without_latest_link(name).string();
  const fs::path below = fs::path(out) / name;
  if (!can_be_name(name) || !path_exists(below)) refuse_missing(name, out);
  return without_latest_link(below).string();
}

std::string named_run(const std::string& name, const std::string& out) {
  const std::string path = named_path(name, out);
  if (path_exists(fs::path(path) / kConfigFile)) return path;
  const std::vector<fs::path> runs = run_folders_in(path);
  if (runs.empty()) return path;
  print_notes(
      {fmt::format("{} is {}, the newest of {}", name, runs.back().string(), counted(std::ssize(runs), "run"))});
  return runs.back().string();
}

std::string run_or_label(const std::string& text, const std::string& out) {
  const bool is_run = path_exists(text) || (can_be_name(text) && path_exists(fs::path(out) / text));
  return is_run ? named_run(text, out) : text;
}

}  // namespace rnnlab::app
