// SPDX-License-Identifier: Apache-2.0
#include "experiment/auto_resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <string_view>

#include "base/error.h"
#include "base/folder.h"
#include "base/text.h"
#include "experiment/devices.h"
#include "experiment/experiment.h"
#include "experiment/resume.h"
#include "experiment/sweep_file.h"
#include "results/run_folder.h"
#include "results/summary.h"
#include "results/work_settings.h"
#include "sweep/status.h"
#include "system/locks.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kBounds = {"training.epochs", "training.max_steps", "training.max_seconds"};
constexpr const char* kDataPath = "data.path";

bool is_bound(std::string_view key) { return std::ranges::find(kBounds, key) != kBounds.end(); }

// Returns nothing if another version of rnnlab wrote the settings, or if they are damaged.
std::optional<Experiment> readable_settings(const fs::path& run) {
  try {
    return settings_of_run(run);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// Returns the device as a run that begins here records it. A new run reports a device that this machine lacks.
std::string recorded_device(const std::string& name) {
  return device_error(name).empty() ? resolve_device(name).str() : name;
}

// Runs of several processes record "cuda", because each process has its own GPU.
bool is_same_device(const std::string& a, const std::string& b) {
  return a == b || ((a == "cuda" || b == "cuda") && a.starts_with("cuda") && b.starts_with("cuda"));
}

// Returns `wanted` with the choices that a run has made where `wanted` leaves them open.
Experiment with_choices_of(const Experiment& before, Experiment wanted) {
  if (wanted.layer == before.layer && !wanted.auto_layer) wanted.auto_layer = before.auto_layer;
  if (is_same_device(before.device, recorded_device(wanted.device))) wanted.device = before.device;
  return wanted;
}

std::vector<std::string> differences_of(const Experiment& before, const Experiment& wanted) {
  std::vector<std::string> found = changes_against_resume(before, with_choices_of(before, wanted));
  if (last_name(before.data.path) != last_name(wanted.data.path))
    found.push_back(
        fmt::format("{} was {} and is {}", kDataPath, in_quotes(before.data.path), in_quotes(wanted.data.path)));
  return found;
}

// A key that the user leaves open, such as training.num_threads, keeps the value of the run.
std::vector<std::string> overrides_for(const Experiment& before, const ExperimentCase& wanted) {
  const Settings then = effective_settings(before), now = effective_settings(wanted.experiment);
  Settings keys = then;
  keys.insert(now.begin(), now.end());
  std::vector<std::string> overrides;
  for (const std::string& key : keys | std::views::keys) {
    const bool may_change = Experiment::schema().spec().may_change(key, config::Change::kOnResume);
    if (!may_change || value_or_absent(then, key) == value_or_absent(now, key)) continue;
    if (!is_bound(key) && !wanted.places.contains(key)) continue;
    overrides.push_back(fmt::format("{}={}", key, now.contains(key) ? now.at(key) : "null"));
  }
  return overrides;
}

// A resumed run checks whether data at another path are the same data.
bool may_train_more(const std::vector<std::string>& overrides) {
  return std::ranges::any_of(overrides, [](const std::string& assignment) {
    const std::string key = assignment.substr(0, assignment.find('='));
    return is_bound(key) || key == kDataPath;
  });
}

FoundRun describe(const fs::path& run, std::vector<std::string> overrides) {
  FoundRun found{.state = SameRun::kStopped, .folder = run, .overrides = std::move(overrides)};
  const RunState state = state_of_run(run);
  if (is_locked(run))
    found.state = SameRun::kRunning;
  else if (state == RunState::kDiverged)
    found.state = SameRun::kDiverged;
  else if (state == RunState::kDone && !may_train_more(found.overrides))
    found.state = SameRun::kEnded;
  else if (path_exists(run / kSummaryFile) && !has_checkpoint(run))
    return {.reason =
                fmt::format("{} has these settings, but no checkpoint from which it can be resumed", run.string())};
  return found;
}

std::string text_of(const std::vector<std::string>& differences) {
  constexpr size_t kMostShown = 3;
  const size_t num_shown = std::min(differences.size(), kMostShown);
  const std::string shown = join(std::span(differences).first(num_shown), ", ");
  const size_t num_left = differences.size() - num_shown;
  return num_left == 0 ? shown : fmt::format("{} and {} more", shown, num_left);
}

void refuse_launcher() {
  if (!this_launch()) return;
  throw_error(ExitCode::kUsage,
              "--resume auto: {} started {} processes, which could choose different runs; pass the folder of a run to "
              "--resume, or set devices so that rnnlab starts the processes",
              name_of(this_launch()->launcher), this_launch()->size);
}

RunAllOutcome report_ended(const fs::path& run, Logger& logger) {
  const std::optional<RunOutcome> ended = ended_run(run);
  RNNLAB_INVARIANT(ended.has_value(), "a run that has ended has no complete summary");
  logger.info(
      fmt::format("{}: has ended with these settings ({}), so there is nothing to do; leave out --resume auto "
                  "to train again",
                  run.string(), ended->summary.stop_reason));
  return {.finished = {*ended}};
}

}  // namespace

FoundRun find_same_run(const ExperimentCase& wanted, const fs::path& out) {
  const fs::path folder = out / wanted.experiment.name;
  std::string reason;
  for (const fs::path& run : run_folders_in(folder) | std::views::reverse) {
    const std::optional<Experiment> before = readable_settings(run);
    if (!before) continue;
    const std::vector<std::string> differences = differences_of(*before, wanted.experiment);
    if (differences.empty()) return describe(run, overrides_for(*before, wanted));
    if (reason.empty())
      reason = fmt::format("no run in {} has these settings; in the newest, {}, {}", folder.string(),
                           run.filename().string(), text_of(differences));
  }
  return {.reason = reason.empty() ? fmt::format("there is no run in {}", folder.string()) : reason};
}

RunAllOutcome start_or_resume(const ExperimentCase& wanted, const RunRequest& request, Logger& logger) {
  refuse_launcher();
  const FoundRun found = find_same_run(wanted, request.out);
  const std::string run = found.folder.string();
  switch (found.state) {
    case SameRun::kNone:
      logger.info("starts a new run: " + found.reason);
      return run_all({wanted}, request, logger);
    case SameRun::kStopped:
      logger.info(fmt::format("resumes {}, the newest run with these settings", run));
      return resume_all(found.folder, found.overrides, request, logger);
    case SameRun::kEnded:
      return report_ended(found.folder, logger);
    case SameRun::kRunning:
      throw_error(ExitCode::kAtWorkElsewhere,
                  "{}: another process trains this run now; wait until it ends, or leave out --resume auto to start a "
                  "second run",
                  run);
    case SameRun::kDiverged:
      throw_error(ExitCode::kDiverged,
                  "{}: diverged before and would diverge again: {}; change a setting, or leave out --resume auto to "
                  "start a second run",
                  run, read_summary(found.folder).stop_reason);
  }
  RNNLAB_INVARIANT(false, "a state of a run is not handled");
  return {};
}

}  // namespace rnnlab
