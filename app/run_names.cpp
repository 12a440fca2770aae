// SPDX-License-Identifier: Apache-2.0
#include "run_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "arguments.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "results/run_folder.h"

namespace rnnlab::app {
namespace {

namespace fs = std::filesystem;

// "/x", "./x" and "../x" are paths only.
bool can_be_name(const std::string& text) { return !text.empty() && text[0] != '/' && text[0] != '.'; }

// Returns whether the folder is a run, or holds runs.
bool has_runs(const fs::path& folder) {
  return path_exists(folder / kConfigFile) || !folders_with(folder, {kConfigFile}).empty();
}

// Adds the names of runs and folders of runs beside the missing one.
void add_names_beside(const fs::path& missing, std::vector<std::string>& names) {
  for (const std::string& name : sibling_names(missing))
    if (name != kLatestLink && has_runs(missing.parent_path() / name)) add_once(names, name);
}

// Only the last name is compared: the folders before it are not part of the typing error, because they exist.
std::string similar_run(const fs::path& missing, const std::vector<std::string>& names) {
  const std::string best = nearest(missing.filename().string(), names);
  if (best.empty()) return "";
  return fmt::format(" (did you mean {}?)", in_quotes((missing.parent_path() / best).string(), 200));
}

[[noreturn]] void refuse_missing(const std::string& name, const std::string& out) {
  const fs::path missing = fs::path(name).has_filename() ? fs::path(name) : fs::path(name).parent_path();
  std::vector<std::string> near;
  add_names_beside(missing, near);
  std::string places = "no such file or folder";
  const fs::path below = fs::path(out) / missing;
  if (can_be_name(name) && (!missing.has_parent_path() || path_exists(below.parent_path()))) {
    places += fmt::format(", and no {}", below.string());
    add_names_beside(below, near);
  }
  throw_error(ExitCode::kUsage, "{}: {}{}; pass the folder of a run, or the name of an experiment in {}", name, places,
              similar_run(missing, near), out);
}

// Returns the path or <out>/<name>; nullopt if neither exists.
std::optional<std::string> find_named(const std::string& name, const std::string& out) {
  if (const fs::path path = without_latest_link(name); path_exists(path)) return path.string();
  const fs::path below = without_latest_link(fs::path(out) / name);
  return can_be_name(name) && path_exists(below) ? std::optional(below.string()) : std::nullopt;
}

bool has_checkpoint(const fs::path& run) {
  return std::ranges::any_of(names_in(run / kCheckpointsFolder),
                             [](const std::string& name) { return step_of(name).has_value(); });
}

void note_newest(const std::string& name, const std::vector<fs::path>& runs) {
  print_notes(
      {fmt::format("{} is {}, the newest of {}", name, runs.back().string(), counted(std::ssize(runs), "run"))});
}

}  // namespace

std::string named_path(const std::string& name, const std::string& out) {
  if (const auto path = find_named(name, out)) return *path;
  refuse_missing(name, out);
}

std::string named_run(const std::string& name, const std::string& out) {
  const std::string path = named_path(name, out);
  if (path_exists(fs::path(path) / kConfigFile)) return path;
  const std::vector<fs::path> runs = run_folders_in(path);
  if (runs.empty()) return path;
  note_newest(name, runs);
  return runs.back().string();
}

std::string named_trained_run(const std::string& name, const std::string& out) {
  const std::string path = named_path(name, out);
  std::vector<fs::path> runs = run_folders_in(path);
  const bool is_one_run = path_exists(fs::path(path) / kConfigFile);
  if (is_one_run || std::ranges::none_of(runs, has_checkpoint)) return named_run(name, out);
  for (; !has_checkpoint(runs.back()); runs.pop_back())
    print_notes({fmt::format("{} is skipped, because it has no checkpoint", runs.back().string())});
  note_newest(name, runs);
  return runs.back().string();
}

std::string run_or_label(const std::string& text, const std::string& out) {
  return find_named(text, out) ? named_run(text, out) : text;
}

}  // namespace rnnlab::app
