#include "experiment/planned_run.h"

#include <chrono>
#include <thread>

#include "base/folder.h"
#include "base/text.h"
#include "experiment/failure.h"
#include "experiment/read_experiment.h"
#include "experiment/run_ranks.h"
#include "experiment/sweep_run.h"
#include "results/files.h"
#include "results/locks.h"
#include "results/run_folder.h"
#include "results/work_settings.h"
#include "sweep/status.h"
#include "training/stop_signal.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

const PlannedRun& run_in_plan(const SweepPlan& plan, int64_t task, int64_t position) {
  const bool has_task = task >= 0 && task < plan.num_tasks();
  if (has_task && position >= 0 && position < std::ssize(plan.tasks[static_cast<size_t>(task)].runs))
    return plan.tasks[static_cast<size_t>(task)].runs[static_cast<size_t>(position)];
  throw_error(ExitCode::kUsage, "the plan has no run {} of task {}", position, task);
}

// As entries of a sweep's file, whose runs begin, resume and remember their layers in the same way.
SweepEntry entry_of(const fs::path& folder, const SweepPlan& plan, const PlannedRun& run) {
  const fs::path run_folder = folder / run.folder;
  SweepEntry entry{.label = plan.case_of(run).label,
                   .experiment = plan.case_of(run).experiment,
                   .folder = std::nullopt,
                   .case_number = run.case_number,
                   .round = run.round,
                   .position = run.position};
  if (state_of_run(run_folder) != RunState::kFree) entry.folder = run_folder.string();
  return entry;
}

Experiment begun_experiment(const fs::path& run_folder) {
  config::Findings findings;
  auto document = config::Document::from_file((run_folder / kConfigFile).string(), findings);
  return read_experiment(std::move(document), {}, findings);
}

// Without what the machine or a launcher decides.
std::string digest_of_settings(const Experiment& experiment) {
  Settings settings = effective_settings(experiment);
  settings.erase("device");
  settings.erase("auto_layer");
  settings.erase("devices");
  settings.erase("training.num_threads");
  return settings_sha256(settings);
}

void refuse_another_experiment(const SweepEntry& entry, const std::string& source) {
  const fs::path config = fs::path(*entry.folder) / kConfigFile;
  if (digest_of_settings(begun_experiment(*entry.folder)) == digest_of_settings(experiment_of(entry, source, {})))
    return;
  throw_error(ExitCode::kUsage,
              "{}: has other settings than the plan has for this run; restore it, or remove its folder",
              config.string());
}

void refuse_divergence(const fs::path& run_folder) {
  if (state_of_run(run_folder) != RunState::kDiverged) return;
  throw_error(ExitCode::kDiverged, "{}: diverged before, and would again: {}", run_folder.string(),
              read_summary(run_folder).stop_reason);
}

// The process of a worker that was killed may live on for a moment.
void await_end_of_predecessor(const fs::path& run_folder) {
  constexpr int kMostLooks = 100;
  for (int i = 0; i < kMostLooks; ++i) try {
      const FolderLock lock(run_folder, WhenTaken::kRefuse);
      return remove_temporary_files(run_folder);
    } catch (const UserError&) {
      if (pending_stop()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

// What `layer: auto` took in runs that have begun; the others get the same.
AutoLayers auto_layers_of(const fs::path& folder, const SweepPlan& plan) {
  AutoLayers found;
  for (const PlannedTask& task : plan.tasks)
    for (const PlannedRun& run : task.runs) remember_auto_layer(entry_of(folder, plan, run), found);
  return found;
}

bool takes_layer_auto(const SweepEntry& entry, const std::string& source) {
  return experiment_of(entry, source, {}).layer == LayerKind::kAuto;
}

// Runs without a round are each for themselves.
Turn turn_of(const SweepPlan& plan, const PlannedRun& run) {
  return {.process = "",
          .measurement = run.round == 0 ? "" : plan.measurement,
          .round = run.round,
          .position = run.position,
          .case_number = run.case_number};
}

ExitCode begin_or_resume(const fs::path& folder, const SweepPlan& plan, const PlannedRun& run, RunRequest request,
                         Logger& logger) {
  const std::string source = (folder / kPlanFile).string();
  request.folder = folder / run.folder;
  if (is_first_here() && is_there(request.folder)) await_end_of_predecessor(request.folder);
  const SweepEntry entry = entry_of(folder, plan, run);
  AutoLayers auto_layers;
  if (takes_layer_auto(entry, source)) auto_layers = auto_layers_of(folder, plan);
  request.auto_layers = &auto_layers;
  request.command_line = plan.command_line;
  request.turn = turn_of(plan, run);
  if (entry.folder) {
    refuse_another_experiment(entry, source);
    refuse_divergence(*entry.folder);
  }
  const RunOutcome outcome = run_entry(entry, source, {}, request, logger);
  logger.close_file();
  return outcome.exit_code;
}

}  // namespace

ExitCode run_planned(const fs::path& folder, int64_t task, int64_t position, RunRequest request, Logger& logger,
                     const std::function<void(const std::string&)>& on_failure) {
  const StopSignalGuard signals("", SecondSignal::kIsIgnored);
  try {
    const SweepPlan plan = read_plan(folder);
    return begin_or_resume(folder, plan, run_in_plan(plan, task, position), std::move(request), logger);
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    const bool is_told_elsewhere = is_of_type<ToldElsewhere>(std::current_exception());
    if (!is_told_elsewhere) logger.error(failure.message);
    logger.abandon_file();
    if (!is_told_elsewhere) on_failure(failure.message);
    return failure.exit_code;
  }
}

}  // namespace rnnlab
