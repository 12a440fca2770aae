// SPDX-License-Identifier: Apache-2.0
#include "runs/auto_resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <string_view>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/locks.h"
#include "base/text.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "results/summary.h"
#include "results/work_settings.h"
#include "runs/devices.h"
#include "runs/experiment.h"
#include "runs/resume.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kBounds = {"training.epochs", "training.max_steps", "training.max_seconds"};
constexpr const char* kDataPath = "data.path";

bool is_bound(std::string_view key) { return std::ranges::find(kBounds, key) != kBounds.end(); }

// Returns the device as a run that begins here records it. A new run reports a device that this machine lacks.
std::string recorded_device(const std::string& name) {
  return device_error(name).empty() ? resolve_device(name).str() : name;
}

// Runs of several processes record "cuda", because each process has its own GPU.
bool is_same_device(const std::string& a, const std::string& b) {
  return a == b || ((a == "cuda" || b == "cuda") && a.starts_with("cuda") && b.starts_with("cuda"));
}

// Returns the wanted experiment with the choices that a run has made where the user leaves them open. A run of an
// earlier version may have split its data differently.
Experiment with_choices_of(const Experiment& before, const ExperimentCase& one) {
  Experiment wanted = one.experiment;
  if (!one.places.contains("data.stratify")) wanted.data.stratify = before.data.stratify;
  if (!one.places.contains("data.inputs_from")) wanted.data.inputs_from = before.data.inputs_from;
  if (!one.places.contains("data.calendar_ahead")) wanted.data.calendar_ahead = before.data.calendar_ahead;
  if (wanted.layer == before.layer && !wanted.auto_layer) wanted.auto_layer = before.auto_layer;
  if (is_same_device(before.device, recorded_device(wanted.device))) wanted.device = before.device;
  return wanted;
}

// Data files in the current folder have no data.path. If the same command starts in another folder, data.path is the
// folder of the experiment file (find_data.h).
bool is_beside_experiment(const Experiment& before, const ExperimentCase& wanted) {
  const DataSettings& data = wanted.experiment.data;
  if (data.train_file.empty() && data.train_inputs.empty()) return false;
  if (before.data.path.empty()) return !wanted.places.contains(kDataPath);
  return data.path.empty() && before.data.path == normalized_path(".").string();
}

bool has_same_name(const Experiment& before, const Experiment& wanted) {
  return last_name(before.data.path) == last_name(wanted.data.path);
}

std::vector<std::string> differences_of(const Experiment& before, const ExperimentCase& one) {
  const Experiment& wanted = one.experiment;
  std::vector<std::string> found = changes_against_resume(before, with_choices_of(before, one));
  if (!has_same_name(before, wanted) && !is_beside_experiment(before, one))
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
    if (!is_bound(key) && key != kDataPath && !wanted.places.contains(key)) continue;
    overrides.push_back(fmt::format("{}={}", key, now.contains(key) ? now.at(key) : "null"));
  }
  return overrides;
}

bool sets_a_bound(const std::vector<std::string>& overrides) {
  return std::ranges::any_of(
      overrides, [](const std::string& assignment) { return is_bound(assignment.substr(0, assignment.find('='))); });
}

std::optional<std::string> more_than(const char* what, int64_t trained, int64_t wanted, const char* key) {
  if (wanted == 0 || trained < wanted) return std::nullopt;
  return fmt::format("has trained {}, {} {} ({})", counted(trained, what),
                     trained > wanted ? "more than" : "as many as", key, wanted);
}

// Why a run that has a summary would train nothing more, and what the user can do to train longer.
struct Ended {
  std::string reason;
  std::string advice;
};

// The summary has the reason to stop only in words, which name the setting that bounds the run.
StopReason stop_reason_of(const Summary& summary) {
  constexpr std::array kReasons = {StopReason::kEpochs, StopReason::kSteps, StopReason::kSeconds};
  static_assert(kReasons.size() == kBounds.size());
  for (size_t i = 0; i < kBounds.size(); ++i)
    if (summary.stop_reason.find(kBounds[i]) != std::string::npos) return kReasons[i];
  return StopReason::kEarlyStopping;
}

// `training` has the wanted bounds.
std::optional<Ended> ended_by_epochs(const Summary& summary, TrainingSettings training) {
  const auto reason = more_than("epoch", summary.epochs, training.epochs, "training.epochs");
  if (!reason) return std::nullopt;
  training.epochs = summary.epochs;
  return Ended{*reason, how_to_train_on(StopReason::kEpochs, training)};
}

std::optional<Ended> ended_by_steps(const fs::path& run, TrainingSettings training) {
  if (!training.max_steps || !has_checkpoint(run)) return std::nullopt;
  const int64_t step = list_checkpoints(run / kCheckpointsFolder).back().step;
  const auto reason = more_than("step", step, *training.max_steps, "training.max_steps");
  if (!reason) return std::nullopt;
  training.max_steps = step;
  return Ended{*reason, how_to_train_on(StopReason::kSteps, training)};
}

std::optional<Ended> ended_by_seconds(const Summary& summary, TrainingSettings training) {
  if (!training.max_seconds || summary.fit_seconds < *training.max_seconds) return std::nullopt;
  const std::string reason = fmt::format("has trained for {}, not less than training.max_seconds ({:g})",
                                         format_duration(summary.fit_seconds), *training.max_seconds);
  training.max_seconds = summary.fit_seconds;
  return Ended{reason, how_to_train_on(StopReason::kSeconds, training)};
}

std::optional<Ended> ended_by_bounds(const fs::path& run, const Summary& summary, const TrainingSettings& wanted) {
  if (auto ended = ended_by_epochs(summary, wanted)) return ended;
  if (auto ended = ended_by_steps(run, wanted)) return ended;
  if (auto ended = ended_by_seconds(summary, wanted)) return ended;
  const StopReason reason = stop_reason_of(summary);
  if (summary.ending != RunEnding::kComplete || reason != StopReason::kEarlyStopping) return std::nullopt;
  return Ended{fmt::format("has ended before its bounds ({})", summary.stop_reason), how_to_train_on(reason, wanted)};
}

// Returns nothing if the run was killed before it wrote a summary.
std::optional<Summary> summary_of(const fs::path& run) {
  if (!path_exists(run / kSummaryFile)) return std::nullopt;
  try {
    return read_summary(run);
  } catch (const UserError& error) {
    throw_error(
        error.exit_code(),
        "{}; restore the file, or remove it to resume the run from its newest checkpoint, or leave out --resume "
        "auto to start a second run",
        error.what());
  }
}

// A resumed run checks whether data at another path are the same data.
std::optional<Ended> ended(const fs::path& run, const Summary& summary, const Experiment& before,
                           const ExperimentCase& wanted, const std::vector<std::string>& overrides) {
  const TrainingSettings& training = wanted.experiment.training;
  if (before.data.path != wanted.experiment.data.path && has_same_name(before, wanted.experiment)) return std::nullopt;
  if (sets_a_bound(overrides)) return ended_by_bounds(run, summary, training);
  if (summary.ending != RunEnding::kComplete) return std::nullopt;
  return Ended{fmt::format("has ended with these settings ({})", summary.stop_reason),
               how_to_train_on(stop_reason_of(summary), training)};
}

FoundRun describe(const fs::path& run, const Experiment& before, const ExperimentCase& wanted) {
  FoundRun found{.state = SameRun::kStopped, .folder = run, .overrides = overrides_for(before, wanted)};
  if (is_locked(run)) {
    found.state = SameRun::kRunning;
    return found;
  }
  const std::optional<Summary> summary = summary_of(run);
  if (!summary) return found;
  if (summary->ending == RunEnding::kDiverged) {
    found.state = SameRun::kDiverged;
  } else if (const auto end = ended(run, *summary, before, wanted, found.overrides)) {
    found.state = SameRun::kEnded;
    found.reason = end->reason;
    found.advice = end->advice;
  } else if (!has_checkpoint(run)) {
    return {.reason =
                fmt::format("{} has these settings, but no checkpoint from which it can be resumed", run.string())};
  }
  return found;
}

std::string text_of(const std::vector<std::string>& differences) {
  constexpr size_t kMostShown = 3;
  const size_t num_shown = std::min(differences.size(), kMostShown);
  const std::string shown = join(std::span(differences).first(num_shown), ", ");
  const size_t num_left = differences.size() - num_shown;
  return num_left == 0 ? shown : fmt::format("{} and {} more", shown, num_left);
}

RunAllOutcome report_ended(const FoundRun& found, Logger& logger) {
  logger.info(fmt::format("{}: {}, so there is nothing to do; to train on, {}; to start again, leave out --resume auto",
                          found.folder.string(), found.reason, found.advice));
  return {.finished = {{.folder = found.folder, .summary = read_summary(found.folder)}}};
}

// A process of the same command may have taken the run since it was found.
RunAllOutcome resume_found(const FoundRun& found, const RunRequest& request, Logger& logger) {
  RunRequest resume_request = request;
  resume_request.when_taken = WhenTaken::kRefuseAtWork;
  RunAllOutcome all = resume_all(found.folder, found.overrides, resume_request, logger);
  for (RunOutcome& outcome : all.finished) outcome.folder = found.folder;  // as new and ended runs are named
  return all;
}

// Another version of rnnlab may have written the settings, or they are damaged.
std::optional<Experiment> readable_settings(const fs::path& run, std::vector<std::string>& errors) {
  try {
    return settings_of_run(run);
  } catch (const UserError& error) {
    errors.push_back(first_line(error.what()));
    return std::nullopt;
  }
}

}  // namespace

FoundRun find_same_run(const ExperimentCase& wanted, const fs::path& out) {
  const fs::path folder = out / wanted.experiment.name;
  const auto runs = run_folders_in(folder);
  std::string reason;
  std::vector<std::string> errors;
  for (const fs::path& run : runs | std::views::reverse) {
    const std::optional<Experiment> before = readable_settings(run, errors);
    if (!before) continue;
    const std::vector<std::string> differences = differences_of(*before, wanted);
    if (differences.empty()) return describe(run, *before, wanted);
    if (reason.empty())
      reason = fmt::format("no run in {} has these settings; in the newest, {}, {}", folder.string(),
                           run.filename().string(), text_of(differences));
  }
  if (runs.empty()) return {.reason = fmt::format("there is no run in {}", folder.string())};
  if (reason.empty()) reason = fmt::format("no run in {} has these settings", folder.string());
  if (errors.empty()) return {.reason = reason};
  return {.reason = fmt::format("{}; the settings of {} cannot be read, first: {}", reason,
                                counted(std::ssize(errors), "run"), errors.front())};
}

RunAllOutcome start_or_resume(const ExperimentCase& wanted, const RunRequest& request, Logger& logger) {
  refuse_launcher("--resume auto",
                  ", which could choose different runs; pass the folder of a run to --resume, or set devices so that "
                  "rnnlab starts the processes");
  const FoundRun found = find_same_run(wanted, request.out);
  const std::string run = found.folder.string();
  switch (found.state) {
    case SameRun::kNone:
      logger.info("starts a new run: " + found.reason);
      return run_all({wanted}, request, logger);
    case SameRun::kStopped:
      logger.info(fmt::format("resumes {}, the newest run with these settings", run));
      return resume_found(found, request, logger);
    case SameRun::kEnded:
      return report_ended(found, logger);
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
