// SPDX-License-Identifier: Apache-2.0
#include "runs/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <set>
#include <thread>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/locks.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "results/work_settings.h"
#include "runs/child_process.h"
#include "runs/devices.h"
#include "runs/experiment.h"
#include "runs/failure.h"
#include "runs/fastest_layer.h"
#include "runs/sweep/status.h"
#include "runs/sweep_file.h"
#include "train/loop/determinism.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

const PlannedRun& run_in_plan(const SweepPlan& plan, int64_t task, int64_t position) {
  const bool has_task = task >= 0 && task < plan.num_tasks();
  if (has_task && position >= 0 && position < std::ssize(plan.tasks[static_cast<size_t>(task)].runs))
    return plan.tasks[static_cast<size_t>(task)].runs[static_cast<size_t>(position)];
  throw_error(ExitCode::kUsage, "the plan has no run {} of task {}", position, task);
}

// Runs are converted to entries of a sweep's file, which begin, resume and remember their layers in the same way.
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
  return read_saved_experiment(std::move(document), {}, findings);
}

// Leaves out the settings that the machine or a launcher determines.
std::string digest_of_settings(const Experiment& experiment) {
  Settings settings = effective_settings(experiment);
  settings.erase("device");
  settings.erase("auto_layer");
  settings.erase("devices");
  settings.erase("training.num_threads");
  return settings_sha256(settings);
}

void require_same_experiment(const SweepEntry& entry, const std::string& source) {
  const fs::path config = fs::path(*entry.folder) / kConfigFile;
  if (digest_of_settings(begun_experiment(*entry.folder)) == digest_of_settings(experiment_of(entry, source, {})))
    return;
  throw_error(ExitCode::kUsage, "{}: its settings differ from those of the plan; restore it, or remove its folder",
              config.string());
}

void require_not_diverged(const fs::path& run_folder) {
  if (state_of_run(run_folder) != RunState::kDiverged) return;
  throw_error(ExitCode::kDiverged, "{}: diverged before and would diverge again: {}", run_folder.string(),
              read_summary(run_folder).stop_reason);
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

// Returns the layers that `layer: auto` selected in runs that have begun; the remaining runs get the same layers.
AutoLayers auto_layers_of(const fs::path& folder, const SweepPlan& plan) {
  AutoLayers found;
  for (const PlannedTask& task : plan.tasks)
    for (const PlannedRun& run : task.runs) remember_auto_layer(entry_of(folder, plan, run), found);
  return found;
}

bool takes_layer_auto(const SweepEntry& entry, const std::string& source) {
  return experiment_of(entry, source, {}).layer == LayerKind::kAuto;
}

// Runs without a round do not belong to a measurement.
Turn turn_of(const SweepPlan& plan, const PlannedRun& run) {
  return {.process = "",
          .measurement = run.round == 0 ? "" : plan.measurement,
          .round = run.round,
          .position = run.position,
          .case_number = run.case_number};
}

ExitCode begin_or_resume(const fs::path& folder, const SweepPlan& plan, const PlannedRun& run,
                         const std::vector<std::string>& overrides, RunRequest request, Logger& logger) {
  const std::string source = (folder / kPlanFile).string();
  request.folder = folder / run.folder;
  if (is_first_process() && path_exists(request.folder)) wait_for_previous_process(request.folder);
  const SweepEntry entry = entry_of(folder, plan, run);
  AutoLayers auto_layers;
  if (takes_layer_auto(entry, source)) auto_layers = auto_layers_of(folder, plan);
  request.auto_layers = &auto_layers;
  request.command_line = plan.command_line;
  request.turn = turn_of(plan, run);
  if (entry.folder) {
    require_same_experiment(entry, source);
    require_not_diverged(*entry.folder);
  }
  const std::vector<std::string> none;
  const RunOutcome outcome = run_entry(entry, source, entry.folder ? none : overrides, request, logger);
  logger.close_file();
  return outcome.exit_code;
}

}  // namespace

std::vector<Experiment> experiments_of(const SweepPlan& plan) {
  std::vector<Experiment> experiments;
  for (const PlannedCase& one : plan.cases) try {
      experiments.push_back(experiment_of({.label = {}, .experiment = one.experiment, .folder = {}}, kPlanFile, {}));
    } catch (const UserError&) {
      continue;
    }
  return experiments;
}

ExitCode run_planned(const fs::path& folder, int64_t task, int64_t position, const std::vector<std::string>& overrides,
                     RunRequest request, Logger& logger, const std::function<void(const std::string&)>& on_failure) {
  const StopSignalGuard signals({}, SecondSignal::kIsIgnored);
  try {
    const SweepPlan plan = read_plan(folder);
    return begin_or_resume(folder, plan, run_in_plan(plan, task, position), overrides, std::move(request), logger);
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    const bool is_told_elsewhere = is_of_type<ReportedElsewhere>(std::current_exception());
    if (!is_told_elsewhere) logger.error(failure.message);
    logger.abandon_file();
    if (!is_told_elsewhere) on_failure(failure.message);
    return failure.exit_code;
  }
}

namespace {

StopTexts stop_texts() { return {"the task stops after the current step", kLostTraining}; }

std::string program_of(const TaskRequest& request) { return request.program.empty() ? kThisProgram : request.program; }

std::string folder_text(const TaskRequest& request, const PlannedRun& run) {
  return (request.folder / run.folder).string();
}

ExitCode stop_code_or(ExitCode otherwise) {
  const auto stop = pending_stop();
  return stop ? stop->exit_code : otherwise;
}

constexpr const char* kThreadsFile = "num_threads";  // among the claims; 0 stands for a thread for each CPU

bool has_begun(const SweepPlan& plan, const fs::path& folder) {
  return std::ranges::any_of(plan.tasks, [&](const PlannedTask& task) {
    return std::ranges::any_of(
        task.runs, [&](const PlannedRun& run) { return state_of_run(folder / run.folder) != RunState::kFree; });
  });
}

// Runs that an earlier version of the program began have a thread for each CPU.
int64_t chosen_threads(const SweepPlan& plan, const TaskRequest& request, Logger& logger) {
  if (std::ranges::none_of(experiments_of(plan), chooses_num_threads) || has_begun(plan, request.folder)) return 0;
  const auto measure = request.measure_speeds ? request.measure_speeds : measure_speeds;
  const auto choice = choose_num_threads(measure(default_num_threads()));
  if (!choice) return 0;
  logger.warn(fmt::format(
      "The CPU is busy: {}. All runs of this plan use training.num_threads: {}, also on other machines; set the key in "
      "a new plan to choose a different number.",
      choice->reason, choice->num_threads));
  return choice->num_threads;
}

// Returns the number of threads for runs of the plan that leave it open; nothing for a thread for each CPU.
std::optional<int64_t> threads_of_plan(const SweepPlan& plan, const TaskRequest& request, Logger& logger) {
  const fs::path claims = request.folder / kClaimsFolder;
  const std::string text =
      path_exists(claims / kThreadsFile)
          ? decide_once(claims, kThreadsFile, "")
          : decide_once(claims, kThreadsFile, fmt::format("{}\n", chosen_threads(plan, request, logger)));
  const auto number = parse_int64(first_line(text));
  return number && *number > 0 ? number : std::nullopt;
}

// Runs the task whose claim this worker holds.
class ClaimedTask {
 public:
  ClaimedTask(const SweepPlan& plan, int64_t task, const Claim& claim, const TaskRequest& request, Logger& logger)
      : plan_(plan), task_(task), claim_(claim), request_(request), logger_(logger) {}

  ExitCode run() {
    remove_failure(request_.folder, task_);
    for (int64_t i = 0; i < std::ssize(runs()) && !must_end(); ++i)
      if (is_left(i)) run_one(i);
    if (claim_.is_lost()) return log_lost_claim();
    if (!failure_) return stop_code_or(stop_code_);
    write_failure(request_.folder, task_, *failure_);
    return static_cast<ExitCode>(failure_->exit_code);
  }

 private:
  const std::vector<PlannedRun>& runs() const { return plan_.tasks[static_cast<size_t>(task_)].runs; }
  bool must_end() const { return pending_stop() || stop_code_ != ExitCode::kDone || claim_.is_lost(); }
  const PlannedRun& run_at(int64_t i) const { return runs()[static_cast<size_t>(i)]; }

  bool is_left(int64_t i) const { return state_of_run(request_.folder / run_at(i).folder) != RunState::kDone; }

  void run_one(int64_t i) {
    logger_.info(fmt::format("=== task {} of {}, run {} of {}: {}", task_, plan_.num_tasks(), i + 1, runs().size(),
                             plan_.case_of(run_at(i)).label));
    reason_.clear();
    const ExitCode exit_code = run_process(i);
    if (exit_code == ExitCode::kDone) return logger_.info(folder_text(request_, run_at(i)));
    if (is_stop_exit_code(exit_code))  // the run's process may have received a signal that this process did not receive
      stop_code_ = exit_code;
    else if (!claim_.is_lost())
      record_failure_of(i, exit_code);
  }

  ExitCode run_process(int64_t i) {
    std::vector<std::string> arguments = {"train", "--planned-run", fmt::format("{}:{}", task_, i),
                                          request_.folder.string()};
    arguments.insert(arguments.end(), request_.child_arguments.begin(), request_.child_arguments.end());
    try {
      const Experiment experiment = experiment_of(i);
      if (const auto num_threads = threads_for(experiment))
        arguments.push_back(fmt::format("training.num_threads={}", *num_threads));
      return run_processes(
          experiment, program_of(request_), arguments, [this](const std::string& line) { handle_line(line); },
          [this] { return claim_.is_lost(); });
    } catch (const UserError& error) {
      reason_ = error.what();
      if (!claim_.is_lost()) logger_.error(reason_);
      return error.exit_code();
    }
  }

  std::optional<int64_t> threads_for(const Experiment& experiment) const {
    if (!has_default_threads(experiment)) return std::nullopt;
    return threads_of_plan(plan_, request_, logger_);
  }

  Experiment experiment_of(int64_t i) const {
    const std::string source = (request_.folder / kPlanFile).string();
    return rnnlab::experiment_of({.label = {}, .experiment = plan_.case_of(run_at(i)).experiment, .folder = {}}, source,
                                 {});
  }

  void handle_line(const std::string& line) {
    if (line.starts_with(kFailureMark)) {
      reason_ = line.substr(kFailureMark.size());
      return;
    }
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  // The first failure of a run is the failure of the task.
  void record_failure_of(int64_t i, ExitCode exit_code) {
    if (failure_) return;
    failure_ =
        TaskFailure{.run = run_at(i).folder,
                    .reason = reason_.empty() ? "the run's process reported no reason; see its train.log" : reason_,
                    .exit_code = static_cast<int64_t>(exit_code),
                    .host = this_worker().host,
                    .time = utc_now()};
  }

  ExitCode log_lost_claim() {
    logger_.error(fmt::format(
        "task {}: another process took it over, because this process did not respond for {} s; its run was ended here",
        task_, std::chrono::duration_cast<std::chrono::seconds>(request_.timing.expires_after).count()));
    return ExitCode::kAtWorkElsewhere;
  }

  const SweepPlan& plan_;
  const int64_t task_;
  const Claim& claim_;
  const TaskRequest& request_;
  Logger& logger_;
  std::string reason_;  // of the current run
  std::optional<TaskFailure> failure_;
  ExitCode stop_code_ = ExitCode::kDone;  // of the signal that stopped a run
};

void require_task(const SweepPlan& plan, int64_t task) {
  if (task >= 0 && task < plan.num_tasks()) return;
  throw_error(ExitCode::kUsage, "--task: got {}, but the plan has tasks 0 to {}", task, plan.num_tasks() - 1);
}

std::string holder_text(const TaskStatus& status) {
  if (!status.holder) return "another worker";  // which has just ended
  return fmt::format("{} since {}", describe(status.holder->worker), status.holder->since);
}

// The caller must have a StopSignalGuard.
ExitCode claim_and_run(const SweepPlan& plan, int64_t task, const TaskRequest& request, Logger& logger) {
  TaskStatus status = status_of_task(request.folder, plan, task);
  if (status.state == TaskState::kDone) {
    logger.info(fmt::format("task {} is done", task));
    return ExitCode::kDone;
  }
  require_hardware(plan);
  const auto claim = Claim::take(request.folder / kClaimsFolder, name_of_task(task), request.timing);
  if (claim != nullptr) return ClaimedTask(plan, task, *claim, request, logger).run();
  status = status_of_task(request.folder, plan, task);
  if (status.state == TaskState::kDone) return ExitCode::kDone;
  logger.info(fmt::format("task {} is taken by {}", task, holder_text(status)));
  return ExitCode::kAtWorkElsewhere;
}

void wait_five_seconds() {
  constexpr int kNumPolls = 50;
  for (int i = 0; i < kNumPolls && !pending_stop(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

// The caller must have a StopSignalGuard.
ExitCode claim_and_run(const SweepPlan& plan, int64_t task, BusyTasks busy, const TaskRequest& request,
                       Logger& logger) {
  ExitCode exit_code = claim_and_run(plan, task, request, logger);
  while (exit_code == ExitCode::kAtWorkElsewhere && busy == BusyTasks::kWait) {
    wait_five_seconds();
    if (const auto stop = pending_stop()) return stop->exit_code;
    if (status_of_task(request.folder, plan, task).state != TaskState::kAtWork)
      exit_code = claim_and_run(plan, task, request, logger);
  }
  return exit_code;
}

// Returns whether a different machine may succeed: the failure may be caused by the device, missing data, the
// environment, or a program that is broken here, for example during its installation.
bool may_be_machine_failure(ExitCode exit_code) {
  constexpr ExitCode kRunFailures[] = {ExitCode::kDone, ExitCode::kUsage, ExitCode::kDiverged, ExitCode::kCheckpoint};
  return std::ranges::find(kRunFailures, exit_code) == std::end(kRunFailures) && !is_stop_exit_code(exit_code);
}

// A failure replaces kAtWorkElsewhere, because a failure is more important.
void record_first_failure(ExitCode& all, ExitCode one) {
  if (all == ExitCode::kDone || (all == ExitCode::kAtWorkElsewhere && one != ExitCode::kDone)) all = one;
}

bool is_for_cpu(const Experiment& experiment) {
  return device_error(experiment.device).empty() && resolve_device(experiment.device).is_cpu();
}

// Works through all tasks as one worker.
class Worker {
 public:
  Worker(const SweepPlan& plan, FailedTasks failed, const TaskRequest& request, Logger& logger)
      : plan_(plan),
        failed_(failed),
        request_(request),
        logger_(logger),
        warns_of_shared_cpus_(std::ranges::any_of(experiments_of(plan), is_for_cpu)) {}

  // Returns whether there was any work.
  bool run_available_tasks() {
    bool was_busy = false;
    num_busy_ = num_failed_before_ = 0;
    for (int64_t task = 0; task < plan_.num_tasks() && !must_end(); ++task)
      if (is_available(task)) was_busy |= work_on(task);
    return was_busy;
  }

  bool must_end() const { return pending_stop().has_value() || num_machine_failures_ >= kMaxMachineFailures; }
  int64_t num_busy() const { return num_busy_; }

  ExitCode end() {
    if (num_machine_failures_ >= kMaxMachineFailures)
      logger_.error(
          fmt::format("{} tasks in a row failed, perhaps because of this machine, so this worker ends; see "
                      "`rnnlab sweep status`",
                      kMaxMachineFailures));
    else if (num_busy_ > 0 && !pending_stop())
      logger_.info(fmt::format("no task is left for this worker; other workers run {}", counted(num_busy_, "task")));
    if (num_failed_before_ > 0)
      logger_.warn(fmt::format("{} failed before and {} skipped; use --retry-failed to try again",
                               counted(num_failed_before_, "task"), num_failed_before_ == 1 ? "is" : "are"));
    return stop_code_or(exit_code_);
  }

 private:
  static constexpr int kMaxMachineFailures = 3;

  void count_busy(const TaskStatus& status) {
    ++num_busy_;
    if (!warns_of_shared_cpus_ || !status.holder || !shares_cpus(status.holder->worker)) return;
    warns_of_shared_cpus_ = false;
    logger_.warn(fmt::format(
        "another worker of this plan ({}) uses the same CPUs. Runs that train at the same time on the same CPUs slow "
        "each other down, and `rnnlab compare` refuses their times. Use one worker, or give each its own CPUs, such as "
        "taskset --cpu-list 0-3 for the first",
        describe(status.holder->worker)));
  }

  bool is_available(int64_t task) {
    if (tried_.contains(task)) return false;
    const TaskStatus status = status_of_task(request_.folder, plan_, task);
    if (status.state == TaskState::kAtWork) count_busy(status);
    if (status.state == TaskState::kFailed && failed_ != FailedTasks::kRetry) {
      ++num_failed_before_;
      record_first_failure(exit_code_, static_cast<ExitCode>(status.failure->exit_code));
    }
    const bool is_left = status.state == TaskState::kFree || status.state == TaskState::kStopped;
    return is_left || (status.state == TaskState::kFailed && failed_ == FailedTasks::kRetry);
  }

  // Returns false if another worker claimed the task first.
  bool work_on(int64_t task) {
    const ExitCode exit_code = claim_and_run(plan_, task, request_, logger_);
    if (exit_code == ExitCode::kAtWorkElsewhere) {
      ++num_busy_;
      return false;
    }
    tried_.insert(task);
    num_machine_failures_ = may_be_machine_failure(exit_code) ? num_machine_failures_ + 1 : 0;
    record_first_failure(exit_code_, exit_code);
    return true;
  }

  const SweepPlan& plan_;
  const FailedTasks failed_;
  const TaskRequest& request_;
  Logger& logger_;
  std::set<int64_t> tried_;  // by this worker
  bool warns_of_shared_cpus_ = false;
  int num_machine_failures_ = 0;  // in a row
  int64_t num_busy_ = 0;
  int64_t num_failed_before_ = 0;
  ExitCode exit_code_ = ExitCode::kDone;
};

}  // namespace

ExitCode run_task(const SweepPlan& plan, int64_t task, BusyTasks busy, const TaskRequest& request, Logger& logger) {
  require_task(plan, task);
  const StopSignalGuard signals(stop_texts());
  return claim_and_run(plan, task, busy, request, logger);
}

ExitCode run_every_nth_task(const SweepPlan& plan, int64_t first, int64_t step, BusyTasks busy,
                            const TaskRequest& request, Logger& logger) {
  const StopSignalGuard signals(stop_texts());
  ExitCode exit_code = ExitCode::kDone;
  for (int64_t task = first; task < plan.num_tasks() && !pending_stop(); task += step)
    record_first_failure(exit_code, claim_and_run(plan, task, busy, request, logger));
  return stop_code_or(exit_code);
}

ExitCode work_on_tasks(const SweepPlan& plan, FailedTasks failed, BusyTasks busy, const TaskRequest& request,
                       Logger& logger) {
  const StopSignalGuard signals(stop_texts());
  Worker worker(plan, failed, request, logger);
  for (;;) {
    const bool was_busy = worker.run_available_tasks();
    const bool waits = busy == BusyTasks::kWait && worker.num_busy() > 0;
    if (worker.must_end() || (!was_busy && !waits)) return worker.end();
    if (!was_busy) wait_five_seconds();
  }
}

}  // namespace rnnlab
