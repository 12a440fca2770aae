#include "experiment/run_all.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "base/text.h"
#include "checkpoint/checkpoint_folder.h"
#include "config/sweep.h"
#include "experiment/device.h"
#include "experiment/failure.h"
#include "experiment/read_experiment.h"
#include "experiment/resume.h"
#include "experiment/sweep_file.h"
#include "experiment/thread_choice.h"
#include "results/run_folder.h"
#include "training/determinism.h"
#include "training/device_memory.h"
#include "training/stop_signal.h"

namespace rnnlab {
namespace {

std::string why_it_cannot_run(const Experiment& experiment) {
  if (const std::string reason = why_no_device(experiment.device); !reason.empty()) return reason;
  return refusal(computed_layer(experiment), resolve_device(experiment.device)).value_or("");
}

// What will fail for want of its device, or for a layer that its device has not, is said before the others take their
// time.
void warn_of_runs_that_cannot(const std::vector<ExperimentCase>& cases, Logger& logger) {
  std::map<std::string, size_t> reasons;
  for (const ExperimentCase& one : cases)
    if (const std::string reason = why_it_cannot_run(one.experiment); !reason.empty()) ++reasons[reason];
  for (const auto& [reason, count] : reasons)
    logger.warn(fmt::format("{} of {} runs will fail: {}", count, cases.size(), reason));
}

// One of the runs of a command: a new one, or one that goes on.
struct RunTask {
  std::string label;
  std::function<RunOutcome(const RunRequest&, Logger&)> run;
};

std::string heading(const RunTask& task, size_t number, size_t count) {
  return fmt::format("=== run {} of {}: {}", number, count, task.label);
}

// What a log could not hold is told of a run that has not failed anyway.
void run_one(const RunTask& task, const RunRequest& request, Logger& logger, RunAllOutcome& all) {
  try {
    all.finished.push_back(task.run(request, logger));
    logger.close_file();
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    logger.error(failure.message);
    if (all.exit_code == ExitCode::kDone) all.exit_code = failure.exit_code;
    if (failure.exit_code != ExitCode::kDiverged) all.can_go_on = true;
    logger.abandon_file();
  }
  release_cached_memory();
}

bool has_checkpoint(const std::filesystem::path& folder) {
  try {
    return !list_checkpoints(folder / kCheckpointsFolder).empty();
  } catch (const UserError&) {
    return false;  // what is wrong with it, whoever goes on is told
  }
}

std::string how_to_resume(const std::filesystem::path& run_or_sweep) {
  return "to resume: rnnlab train --resume " + shell_quoted(run_or_sweep.string());
}

// Empty if there is nothing to resume.
std::string how_to_resume(const RunAllOutcome& all, const SweepFile* sweep, const RunRequest& request) {
  if (sweep != nullptr) return how_to_resume(sweep->path());
  if (all.finished.empty()) return pending_stop() ? request.how_to_resume : "";  // before its first step
  const auto& folder = all.finished.back().folder;
  return has_checkpoint(folder) ? how_to_resume(folder) : "";
}

// A signal's code promises that all was saved: what failed on the way says otherwise.
bool gives_way_to_signal(ExitCode exit_code) {
  return exit_code != ExitCode::kDevice && exit_code != ExitCode::kCheckpoint && exit_code != ExitCode::kInternal;
}

void run_tasks(const std::vector<RunTask>& tasks, SweepFile* sweep, RunRequest request, Logger& logger,
               RunAllOutcome& all) {
  size_t num_begun = 0;
  // The first one is begun in any case: it says what a signal before it leaves undone.
  while (num_begun < tasks.size() && (num_begun == 0 || !pending_stop())) {
    const size_t number = num_begun++;
    if (sweep != nullptr) {
      logger.info(heading(tasks[number], num_begun, tasks.size()));
      request.on_folder = [&](const std::filesystem::path& folder) { sweep->set_folder(number, folder); };
    }
    run_one(tasks[number], request, logger, all);
    if (sweep != nullptr) logger.info("");
  }
  if (const auto stop = pending_stop()) {
    const size_t num_left = tasks.size() - num_begun;
    if (num_left > 0) logger.warn(fmt::format("{}: {} of {} runs not begun", stop->text, num_left, tasks.size()));
    if (gives_way_to_signal(all.exit_code)) all.exit_code = stop->exit_code;
    all.can_go_on = true;
  }
  const std::string line = all.can_go_on ? how_to_resume(all, sweep, request) : "";
  if (!line.empty()) logger.warn(line);
  if (!all.can_go_on && sweep != nullptr) sweep->remove();
}

constexpr const char* kStopping = "stopping after the current step";

RunAllOutcome run_in_turn(const std::vector<RunTask>& tasks, SweepFile* sweep, const RunRequest& request,
                          Logger& logger) {
  if (sweep != nullptr && !sweep->lock_warning().empty()) logger.warn(sweep->lock_warning());
  RunAllOutcome all;
  run_tasks(tasks, sweep, request, logger, all);
  return all;
}

// What is wrong with a key is said with the place in front where it is set.
RunOutcome run_with_places(const ExperimentCase& one, const RunRequest& request, Logger& logger) {
  try {
    return run_experiment(one.experiment, request, logger);
  } catch (const UserError& error) {
    throw UserError(error.exit_code(), config::with_place(error.what(), one.places));
  }
}

bool chooses_num_threads(const ExperimentCase& one) {
  return !one.experiment.training.num_threads && why_no_device(one.experiment.device).empty() &&
         resolve_device(one.experiment.device).is_cpu();
}

// A busy CPU gets fewer threads: one number for all runs of a command, so that their times can be compared, and in
// their settings, so that a resumed run keeps it.
std::vector<ExperimentCase> with_num_threads(std::vector<ExperimentCase> cases, const MeasureSpeeds& measure,
                                             Logger& logger) {
  if (std::ranges::none_of(cases, chooses_num_threads)) return cases;
  const auto choice =
      choose_num_threads(measure ? measure(default_num_threads()) : measure_speeds(default_num_threads()));
  if (!choice) return cases;
  logger.warn(
      fmt::format("The CPU is busy: {}. These runs use training.num_threads: {}; set the key to choose another "
                  "number.",
                  choice->reason, choice->num_threads));
  for (ExperimentCase& one : cases)
    if (!one.experiment.training.num_threads) one.experiment.training.num_threads = choice->num_threads;
  return cases;
}

RunTask task_of(const ExperimentCase& one) {
  return {one.label.empty() ? one.experiment.name : one.label,
          [one](const RunRequest& request, Logger& logger) { return run_with_places(one, request, logger); }};
}

std::vector<SweepEntry> entries_of(const std::vector<ExperimentCase>& cases) {
  std::vector<SweepEntry> entries;
  for (const ExperimentCase& one : cases)
    entries.push_back({task_of(one).label, config::print(one.experiment, Experiment::schema()), std::nullopt});
  return entries;
}

// A run of a sweep that has ended as its settings want is not touched again.
std::optional<RunOutcome> ended(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(folder / kSummaryFile, ignored)) return std::nullopt;
  RunOutcome outcome{.folder = folder, .summary = read_summary(folder)};
  if (outcome.summary.ending != RunEnding::kComplete) return std::nullopt;
  return outcome;
}

// What `layer: auto` took in a run of a sweep; the others get the same. A run whose settings cannot be read is told of
// when its turn comes.
void remember_auto_layer(const SweepEntry& entry, AutoLayers& auto_layers) {
  if (!entry.folder) return;
  try {
    config::Findings findings;
    const std::filesystem::path folder = *entry.folder;
    auto document = config::Document::from_file((folder / kConfigFile).string(), findings);
    const Experiment experiment = with_paths_beside(read_experiment(std::move(document), {}, findings), folder);
    if (experiment.auto_layer) auto_layers.remember(experiment, *experiment.auto_layer);
  } catch (const UserError&) {
    return;
  }
}

// A run that was killed before it had its settings in its folder is none yet.
bool has_begun(const SweepEntry& entry, Logger& logger) {
  if (!entry.folder) return false;
  std::error_code ignored;
  if (!std::filesystem::exists(*entry.folder, ignored))
    logger.warn(*entry.folder + ": the folder of this run is gone; it begins anew");
  return std::filesystem::is_regular_file(std::filesystem::path(*entry.folder) / kConfigFile, ignored);
}

Experiment experiment_of(const SweepEntry& entry, const std::string& source,
                         const std::vector<std::string>& overrides) {
  config::Findings findings;
  return read_experiment(config::Document::from_text(entry.experiment, source, findings), overrides, findings);
}

RunTask task_of(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides) {
  const auto run = [=](const RunRequest& request, Logger& logger) {
    if (!has_begun(entry, logger)) return run_experiment(experiment_of(entry, source, overrides), request, logger);
    if (overrides.empty())
      if (auto outcome = ended(*entry.folder)) return *std::move(outcome);
    return resume_experiment(*entry.folder, overrides, request, logger);
  };
  return {entry.label, run};
}

}  // namespace

std::vector<ExperimentCase> read_cases(const config::Document& document, config::Findings& findings) {
  const auto folder = std::filesystem::path(document.source()).parent_path();
  std::vector<ExperimentCase> cases;
  const config::Sweep sweep(document, findings);
  for (size_t i = 0; i < sweep.num_cases(); ++i) {
    const config::Document one = sweep.document(i);
    Experiment experiment = config::read(one, Experiment::schema(), findings);
    cases.push_back({sweep.label(i), with_paths_beside(std::move(experiment), folder), config::places_of_keys(one)});
  }
  return cases;
}

RunAllOutcome run_all(const std::vector<ExperimentCase>& wanted, const RunRequest& request, Logger& logger) {
  const StopSignalGuard signals(kStopping);
  const std::vector<ExperimentCase> cases = with_num_threads(wanted, request.measure_speeds, logger);
  std::vector<RunTask> tasks;
  for (const ExperimentCase& one : cases) tasks.push_back(task_of(one));
  if (cases.size() == 1) return run_in_turn(tasks, nullptr, request, logger);
  warn_of_runs_that_cannot(cases, logger);
  SweepFile sweep(request.out, entries_of(cases));
  AutoLayers auto_layers;
  RunRequest of_sweep = request;
  of_sweep.auto_layers = &auto_layers;
  of_sweep.how_to_resume = how_to_resume(sweep.path());
  return run_in_turn(tasks, &sweep, of_sweep, logger);
}

RunAllOutcome resume_all(const std::filesystem::path& run_or_sweep, const std::vector<std::string>& overrides,
                         const RunRequest& request, Logger& logger) {
  const StopSignalGuard signals(kStopping);
  RunRequest in_its_place = request;
  in_its_place.how_to_resume = how_to_resume(run_or_sweep);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(run_or_sweep, ignored)) {
    const RunTask task{"", [&](const RunRequest& asked, Logger& log) {
                         return resume_experiment(run_or_sweep, overrides, asked, log);
                       }};
    return run_in_turn({task}, nullptr, in_its_place, logger);
  }
  if (run_or_sweep.extension() != ".json" || run_or_sweep.filename() == kSummaryFile)
    throw_error(ExitCode::kUsage, "{}: a file, expected the folder of a run or the sweep-....json of a sweep",
                run_or_sweep.string());
  SweepFile sweep(run_or_sweep);
  AutoLayers auto_layers;
  for (const SweepEntry& entry : sweep.entries()) remember_auto_layer(entry, auto_layers);
  in_its_place.auto_layers = &auto_layers;
  refuse_other_overrides(overrides);
  sweep.add_overrides(overrides);
  std::vector<RunTask> tasks;
  for (const SweepEntry& entry : sweep.entries())
    tasks.push_back(task_of(entry, run_or_sweep.string(), sweep.overrides()));
  in_its_place.out = run_or_sweep.parent_path();
  return run_in_turn(tasks, &sweep, in_its_place, logger);
}

}  // namespace rnnlab
