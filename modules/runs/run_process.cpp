// SPDX-License-Identifier: Apache-2.0
#include "runs/run_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/folder.h"
#include "base/system/files.h"
#include "base/system/locks.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "results/work_settings.h"
#include "runs/devices.h"
#include "runs/failure.h"
#include "runs/plan/plan.h"
#include "runs/plan/status.h"
#include "runs/resume.h"
#include "runs/sweep_file.h"
#include "train/loop/determinism.h"
#include "train/loop/profiling.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

// If several processes train one run, one of them reports why it ended. Call this function within a catch block.
void report_failure(const std::string& message, RunAllOutcome& all, Logger& logger) {
  write_error_file(message);
  if (is_of_type<ReportedBeyondNetwork>(std::current_exception())) all.beyond_network = message;
  if (is_of_type<ReportedElsewhere>(std::current_exception())) return;
  all.reason = message;
  const bool names_a_rank = is_first_process() || message.starts_with("rank ");
  logger.error(names_a_rank ? message : fmt::format("rank {}: {}", this_launch()->rank, message));
}

}  // namespace

void record_failure(RunAllOutcome& all, ExitCode exit_code) {
  if (all.exit_code == ExitCode::kDone) all.exit_code = exit_code;
  if (exit_code != ExitCode::kDiverged) all.can_resume = true;
}

// A failed log is reported only if the run itself has not failed.
bool run_here(const std::function<RunOutcome()>& run, RunAllOutcome& all, Logger& logger) {
  const size_t num_before = all.finished.size();
  try {
    all.finished.push_back(run());
    if (all.finished.back().exit_code != ExitCode::kDone) record_failure(all, all.finished.back().exit_code);
    logger.close_file();
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    report_failure(failure.message, all, logger);
    record_failure(all, failure.exit_code);
    logger.abandon_file();
  }
  release_cached_memory();
  return all.finished.size() > num_before;
}

ExitCode run_in_process(const RunOfBook& run, const Experiment& experiment, const std::vector<std::string>& arguments,
                        const RunRequest& request, const MustEnd& must_end) {
  std::vector<std::string> all = {"train", "--run-of-book", run.book.string(), run.run};
  for (const auto* more : {&request.child_arguments, &arguments}) all.insert(all.end(), more->begin(), more->end());
  return run_processes(experiment, request.program.empty() ? kThisProgram : request.program, all, must_end);
}

namespace {

// Returns the folder of the run before this one in its round; empty for the first one.
fs::path run_before(const std::vector<SweepEntry>& entries, const SweepEntry& entry) {
  const auto found = std::ranges::find_if(entries, [&](const SweepEntry& other) {
    return other.round == entry.round && other.position == entry.position - 1 && other.folder;
  });
  return found == entries.end() ? "" : *found->folder;
}

Turn turn_of(const auto& run, const std::string& measurement) {
  return {.process = "",
          .measurement = measurement,
          .round = run.round,
          .position = run.position,
          .case_number = run.case_number};
}

RunOutcome run_of_sweep(const RunOfBook& run, RunRequest request, Logger& logger) {
  SweepFile sweep(run.book, SweepUser::kRunOfCommand);
  const auto number = static_cast<size_t>(parse_int64(run.run).value_or(-1));
  if (number >= sweep.entries().size() || !sweep.repeats())
    throw_error(ExitCode::kUsage, "{}: contains no run {} of a sweep with repeats", run.book.string(), run.run);
  const SweepEntry one = sweep.entries()[number];
  AutoLayers auto_layers = auto_layers_of(sweep.entries());
  request.out = run.book.parent_path();
  request.auto_layers = &auto_layers;
  request.command_line = sweep.repeats()->command_line;
  request.previous_run = run_before(sweep.entries(), one);
  request.turn = turn_of(one, sweep.repeats()->measurement);
  request.on_folder = [&](const fs::path& folder) { sweep.set_folder(number, folder); };
  return run_entry(one, run.book.string(), sweep.overrides(), request, logger);
}

// The process of a killed worker may run for a moment longer.
void wait_for_previous_process(const fs::path& run_folder) {
  constexpr int kMaxAttempts = 100;
  for (int i = 0; i < kMaxAttempts; ++i) try {
      const FolderLock lock(run_folder, WhenTaken::kRefuse);
      return remove_temporary_files(run_folder);
    } catch (const UserError&) {
      if (pending_stop()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

std::vector<fs::path> folders_of(const fs::path& folder, const SweepPlan& plan) {
  std::vector<fs::path> folders;
  for (const PlannedTask& task : plan.tasks)
    for (const PlannedRun& run : task.runs) folders.push_back(folder / run.folder);
  return folders;
}

// Leaves out the settings that the machine or a launcher determines.
std::string digest_of_settings(const Experiment& experiment) {
  Settings settings = effective_settings(experiment);
  for (const char* key : {"device", "auto_layer", "devices", "training.num_threads"}) settings.erase(key);
  return settings_sha256(settings);
}

void require_same_experiment(const fs::path& run_folder, const Experiment& planned) {
  const std::string expected = digest_of_settings(with_paths_beside(planned, run_folder));
  if (digest_of_settings(settings_of_run(run_folder)) == expected) return;
  throw_error(ExitCode::kUsage, "{}: its settings differ from those of the plan; restore it, or remove its folder",
              (run_folder / kConfigFile).string());
}

const PlannedRun& run_named(const SweepPlan& plan, const std::string& folder) {
  for (const PlannedTask& task : plan.tasks)
    for (const PlannedRun& run : task.runs)
      if (run.folder == folder) return run;
  throw_error(ExitCode::kUsage, "the plan has no run {}", in_quotes(folder));
}

RunOutcome run_of_plan(const RunOfBook& wanted, const std::vector<std::string>& overrides, RunRequest request,
                       Logger& logger) {
  const fs::path folder = wanted.book.parent_path();
  const SweepPlan plan = read_plan(folder);
  const PlannedRun& run = run_named(plan, wanted.run);
  const fs::path run_folder = request.folder = folder / run.folder;
  if (is_first_process() && path_exists(run_folder)) wait_for_previous_process(run_folder);
  const std::string& yaml = plan.case_of(run).experiment;
  const std::string source = wanted.book.string();
  const Experiment planned = experiment_of(yaml, source, {});
  AutoLayers auto_layers;
  if (planned.layer == LayerKind::kAuto) auto_layers = auto_layers_of(folders_of(folder, plan));
  request.auto_layers = &auto_layers;
  request.command_line = plan.command_line;
  request.turn = turn_of(run, run.round == 0 ? "" : plan.measurement);  // a run without a round belongs to none
  const RunState state = state_of_run(run_folder);
  if (state == RunState::kFree) return run_experiment(experiment_of(yaml, source, overrides), request, logger);
  require_same_experiment(run_folder, planned);
  if (state == RunState::kDone) return {.folder = run_folder, .summary = read_summary(run_folder)};
  if (state == RunState::kDiverged)
    throw_error(ExitCode::kDiverged, "{}: diverged before and would diverge again: {}", run_folder.string(),
                read_summary(run_folder).stop_reason);
  return resume_experiment(run_folder, {}, request, logger);
}

}  // namespace

ExitCode run_of_book(const RunOfBook& run, const std::vector<std::string>& overrides, const RunRequest& request,
                     Logger& logger) {
  const StopSignalGuard signals({}, SecondSignal::kIsIgnored);
  const bool is_planned = run.book.filename() == kPlanFile;
  const auto work = [&] {
    if (is_planned) return run_of_plan(run, overrides, request, logger);
    if (is_folder(run.book)) return resume_experiment(run.book, overrides, request, logger);
    return run_of_sweep(run, request, logger);
  };
  RunAllOutcome all;
  run_here(work, all, logger);
  if (is_planned && !all.reason.empty())
    write_file_atomically(reason_file(run.book.parent_path(), run.run), without_controls(first_line(all.reason)));
  const auto stop = pending_stop();
  return stop && all.exit_code == ExitCode::kDone ? stop->exit_code : all.exit_code;
}

}  // namespace rnnlab
