// SPDX-License-Identifier: Apache-2.0
#include "run_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "arguments.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "output.h"
#include "results/checkpoint/checkpoint.h"
#include "results/run_folder.h"
#include "runs/resume.h"

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

// Returns the places where the name is looked up: the path itself, then <out>/<name>.
std::vector<fs::path> places_of(const std::string& name, const std::string& out) {
  std::vector<fs::path> places = {name};
  if (can_be_name(name)) places.push_back(fs::path(out) / name);
  return places;
}

// Returns the sorted names in a folder for which `is_meant` is true; none if the folder cannot be read.
std::vector<fs::path> subfolders_where(const fs::path& folder, bool (*is_meant)(const fs::path&)) {
  std::vector<fs::path> found;
  std::error_code unreadable;
  for (fs::directory_iterator entry(folder, unreadable); entry != end(entry); entry.increment(unreadable))
    if (is_meant(entry->path())) found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

// Returns whether a verb may want the path itself: a run, a checkpoint, a folder of these, or a file. A file without an
// ending has the form of a name, and is not one of weights or of a benchmark.
bool is_usable(const fs::path& path) {
  if (!is_folder(path)) return path.has_extension() && path_exists(path);
  return has_runs(path) || path_exists(path / kManifestFile) || path_exists(path / kCheckpointsFolder) ||
         !subfolders_where(path, has_runs).empty();
}

// Returns the first place that has something for a verb; nullopt if none has.
std::optional<fs::path> find_usable(const std::string& name, const std::string& out) {
  for (const fs::path& place : places_of(name, out))
    if (is_usable(without_latest_link(place))) return place;
  return std::nullopt;
}

// Returns the path or <out>/<name>, as it was typed; nullopt if neither exists. A folder that only has the name of an
// experiment, such as one of data, does not hide its runs.
std::optional<fs::path> find_named(const std::string& name, const std::string& out) {
  if (const auto usable = find_usable(name, out)) return usable;
  for (const fs::path& place : places_of(name, out))
    if (path_exists(without_latest_link(place))) return place;
  return std::nullopt;
}

void refuse_dangling_latest(const std::string& name, const std::string& out) {
  for (const fs::path& place : places_of(name, out)) {
    if (path_exists(place)) return;
    const auto dangling = dangling_latest(place);
    if (!dangling) continue;
    const std::string advice = dangling->left.empty()
                                   ? "no run is left beside it, so start a new run"
                                   : fmt::format("to resume the newest run that is left, pass its folder: --resume {}",
                                                 shell_quoted(dangling->left.string()));
    throw_error(ExitCode::kUsage, "--resume {}: the link leads to the run {}, which was deleted; {}",
                dangling->link.string(), dangling->deleted.filename().string(), advice);
  }
}

// Returns the runs in a folder of runs, the newest last; none if `path` is a run itself or something else.
std::vector<fs::path> runs_within(const fs::path& path) {
  return path_exists(path / kConfigFile) ? std::vector<fs::path>() : run_folders_in(path);
}

std::string newest_of(const std::string& name, const std::vector<fs::path>& runs) {
  const std::string newest = runs.back().string();
  print_notes({fmt::format("{} is {}, the newest of {}", name, newest, counted(std::ssize(runs), "run"))});
  return newest;
}

// Returns the run that has `num_newer` runs without a checkpoint after it.
std::string trained_before(const std::string& name, const std::vector<fs::path>& runs, int64_t num_newer) {
  const std::string trained = runs[runs.size() - 1 - static_cast<size_t>(num_newer)].string();
  print_notes({fmt::format("{} is {}, of {} the newest with a checkpoint; {} {} none", name, trained,
                           counted(std::ssize(runs), "run"), counted(num_newer, "newer run"),
                           num_newer == 1 ? "has" : "have")});
  return trained;
}

}  // namespace

std::string run_of_latest(const std::string& path) {
  const auto dangling = dangling_latest(path);
  if (dangling && !dangling->left.empty())
    print_notes({fmt::format("{} leads to the run {}, which was deleted: {} is read instead", dangling->link.string(),
                             dangling->deleted.filename().string(), dangling->left.string())});
  return without_latest_link(path).string();
}

bool is_path_of_runs(const std::string& path) { return is_usable(without_latest_link(path)); }

std::string named_path(const std::string& name, const std::string& out) {
  if (const auto path = find_named(name, out)) return run_of_latest(path->string());
  refuse_missing(name, out);
}

std::string named_run(const std::string& name, const std::string& out) {
  const std::string path = named_path(name, out);
  const std::vector<fs::path> runs = runs_within(path);
  return runs.empty() ? path : newest_of(name, runs);
}

std::string named_run_to_resume(const std::string& name, const std::string& out) {
  refuse_dangling_latest(name, out);
  return named_run(name, out);
}

std::string named_trained_run(const std::string& name, const std::string& out) {
  std::string path = named_path(name, out);
  const std::vector<fs::path> runs = runs_within(path);
  if (runs.empty()) return path;
  const auto newest = std::find_if(runs.rbegin(), runs.rend(), has_checkpoint);
  const auto num_newer = newest - runs.rbegin();
  if (num_newer == 0 || newest == runs.rend()) return newest_of(name, runs);
  return trained_before(name, runs, num_newer);
}

std::string run_or_label(const std::string& text, const std::string& out) {
  return find_usable(text, out) ? named_run(text, out) : text;
}

namespace {

std::vector<std::string> without_repetitions(const std::vector<std::string>& folders) {
  std::set<fs::path> seen;
  std::vector<std::string> unique;
  for (const std::string& folder : folders) {
    std::error_code unreadable;
    const fs::path whole = fs::weakly_canonical(folder, unreadable);
    if (seen.insert(unreadable ? fs::path(folder) : whole).second) unique.push_back(folder);
  }
  return unique;
}

// The runs are sorted by the second of their start, which is in their names; results/run_record.h orders runs of one
// second. load_run reports runs that cannot be read.
std::vector<fs::path> begun_runs_in(const fs::path& folder) {
  return folders_with(folder, {kEpochsCsvFile, kSummaryFile});
}

bool has_begun_runs(const fs::path& folder) { return !begun_runs_in(folder).empty(); }

// Appends the runs in the folder that have ended, with a notice for each of the others.
void append_ended(const fs::path& folder, std::vector<std::string>& runs) {
  for (const fs::path& run : begun_runs_in(folder)) {
    if (path_exists(run / kSummaryFile))
      runs.push_back(run.string());
    else
      print_notice(fmt::format("rnnlab: {} skipped: it still runs, or was killed\n", run.string()));
  }
}

// Appends the finished runs in the folder, or the folder itself if it contains none. A user who writes "runs" instead
// of "runs/gru_speed" gets an error, because the runs of different experiments must not be mixed by mistake.
void append_ended_or_itself(const std::string& folder, std::vector<std::string>& runs) {
  const size_t num_before = runs.size();
  append_ended(folder, runs);
  if (runs.size() > num_before) return;
  if (const auto experiments = subfolders_where(folder, has_begun_runs); !experiments.empty())
    throw_error(ExitCode::kUsage,
                "{}: not a run folder, but its subfolders contain runs; pass one of them, for example {}", folder,
                experiments.front().string());
  runs.push_back(folder);
}

}  // namespace

std::vector<std::string> named_runs(const std::vector<std::string>& folders) {
  std::vector<std::string> runs;
  for (const std::string& folder : folders) append_ended_or_itself(named_path(folder, kRunsFolder), runs);
  return without_repetitions(runs);
}

std::vector<std::string> named_runs_of_all(const std::vector<std::string>& folders) {
  std::vector<std::string> runs;
  for (const std::string& name : folders) {
    const std::string folder = named_path(name, kRunsFolder);
    std::vector<fs::path> experiments;
    if (!has_begun_runs(folder)) experiments = subfolders_where(folder, has_begun_runs);
    if (experiments.empty()) append_ended_or_itself(folder, runs);
    for (const fs::path& experiment : experiments) append_ended(experiment, runs);
  }
  return without_repetitions(runs);
}

}  // namespace rnnlab::app
