// SPDX-License-Identifier: Apache-2.0
// A worker of a plan (sweep.h): it claims tasks that other workers have not, and runs them.
#include "runs/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <thread>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/text.h"
#include "runs/child_process.h"
#include "runs/devices.h"
#include "runs/experiment.h"
#include "runs/fastest_layer.h"
#include "runs/plan/status.h"
#include "runs/run_process.h"
#include "runs/sweep_file.h"
#include "train/loop/determinism.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {

std::vector<Experiment> experiments_of(const SweepPlan& plan) {
  std::vector<Experiment> experiments;
  for (const PlannedCase& one : plan.cases) try {
      experiments.push_back(experiment_of(one.experiment, kPlanFile, {}));
    } catch (const UserError&) {
      continue;
    }
  return experiments;
}

namespace {

namespace fs = std::filesystem;

StopTexts stop_texts() { return {"the task stops after the current step", kLostTraining}; }

ExitCode stop_code_or(ExitCode otherwise) {
  const auto stop = pending_stop();
  return stop ? stop->exit_code : otherwise;
}

constexpr size_t kMostBytesOfReason = 1 << 16;
constexpr const char* kThreadsFile = "num_threads";  // among the claims; 0 stands for a thread for each CPU

bool has_begun(const SweepPlan& plan, const fs::path& folder) {
  return std::ranges::any_of(plan.tasks, [&](const PlannedTask& task) {
    return std::ranges::any_of(
        task.runs, [&](const PlannedRun& run) { return state_of_run(folder / run.folder) != RunState::kFree; });
  });
}

// Runs that an earlier version of the program began have a thread for each CPU.
int64_t chosen_threads(const SweepPlan& plan, const RunRequest& request, Logger& logger) {
  if (std::ranges::none_of(experiments_of(plan), chooses_num_threads) || has_begun(plan, request.folder)) return 0;
  const auto choice = choose_num_threads(request.measure_speeds(default_num_threads()));
  if (!choice) return 0;
  logger.warn(fmt::format(
      "The CPU is busy: {}. All runs of this plan use training.num_threads: {}, also on other machines; set the key in "
      "a new plan to choose a different number.",
      choice->reason, choice->num_threads));
  return choice->num_threads;
}

// Returns the number of threads for runs of the plan that leave it open; nothing for a thread for each CPU.
std::optional<int64_t> threads_of_plan(const SweepPlan& plan, const RunRequest& request, Logger& logger) {
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
  ClaimedTask(const SweepPlan& plan, int64_t task, const Claim& claim, const RunRequest& request, Logger& logger)
      : plan_(plan), task_(task), claim_(claim), request_(request), logger_(logger) {}

  ExitCode run() {
    remove_failure(request_.folder, task_);
    const auto& runs = plan_.tasks[static_cast<size_t>(task_)].runs;
    for (size_t i = 0; i < runs.size() && !must_end(); ++i) {
      if (state_of_run(request_.folder / runs[i].folder) == RunState::kDone) continue;
      logger_.info(fmt::format("=== task {} of {}, run {} of {}: {}", task_, plan_.num_tasks(), i + 1, runs.size(),
                               plan_.case_of(runs[i]).label));
      run_one(runs[i]);
    }
    if (claim_.is_lost()) return log_lost_claim();
    if (!failure_) return stop_code_or(stop_code_);
    write_failure(request_.folder, task_, *failure_);
    return static_cast<ExitCode>(failure_->exit_code);
  }

 private:
  bool must_end() const { return pending_stop() || stop_code_ != ExitCode::kDone || claim_.is_lost(); }

  void run_one(const PlannedRun& run) {
    const fs::path its_reason = reason_file(request_.folder, run.folder);
    remove_file(its_reason);
    std::string reason = "the run's process reported no reason; see its train.log";
    ExitCode exit_code = ExitCode::kDone;
    try {
      exit_code = run_process(run);
      if (path_exists(its_reason)) reason = read_beginning(its_reason, kMostBytesOfReason);
    } catch (const UserError& error) {
      exit_code = error.exit_code();
      reason = error.what();
      if (!claim_.is_lost()) logger_.error(reason);
    }
    remove_file(its_reason);
    if (exit_code == ExitCode::kDone) return logger_.info((request_.folder / run.folder).string());
    if (is_stop_exit_code(exit_code))  // the run's process may have received a signal that this process did not receive
      stop_code_ = exit_code;
    else if (!failure_ && !claim_.is_lost())  // the first failure of a run is the failure of the task
      failure_ = {.run = run.folder,
                  .reason = reason,
                  .exit_code = static_cast<int64_t>(exit_code),
                  .host = this_worker().host,
                  .time = utc_now()};
  }

  ExitCode run_process(const PlannedRun& run) {
    const fs::path book = request_.folder / kPlanFile;
    const Experiment experiment = experiment_of(plan_.case_of(run).experiment, book.string(), {});
    std::vector<std::string> overrides;
    if (has_default_threads(experiment))
      if (const auto num_threads = threads_of_plan(plan_, request_, logger_))
        overrides.push_back(fmt::format("training.num_threads={}", *num_threads));
    return run_in_process({book, run.folder}, experiment, overrides, request_, [this] { return claim_.is_lost(); });
  }

  ExitCode log_lost_claim() {
    logger_.error(fmt::format(
        "task {}: another process took it over, because this process did not respond for {} s; its run was ended here",
        task_, std::chrono::duration_cast<std::chrono::seconds>(ClaimTiming().expires_after).count()));
    return ExitCode::kAtWorkElsewhere;
  }

  const SweepPlan& plan_;
  const int64_t task_;
  const Claim& claim_;
  const RunRequest& request_;
  Logger& logger_;
  std::optional<TaskFailure> failure_;
  ExitCode stop_code_ = ExitCode::kDone;  // of the signal that stopped a run
};

std::string holder_text(const TaskStatus& status) {
  if (!status.holder) return "another worker";  // which has just ended
  return fmt::format("{} since {}", describe(status.holder->worker), status.holder->since);
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

void wait_five_seconds() {
  constexpr int kNumPolls = 50;
  for (int i = 0; i < kNumPolls && !pending_stop(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

// Its caller must have a StopSignalGuard.
class Worker {
 public:
  Worker(const SweepPlan& plan, BusyTasks busy, const RunRequest& request, Logger& logger)
      : plan_(plan), busy_(busy), request_(request), logger_(logger) {}

  // Runs exactly this task.
  ExitCode run_task(int64_t task) {
    ExitCode exit_code = claim_and_run(task);
    while (exit_code == ExitCode::kAtWorkElsewhere && busy_ == BusyTasks::kWait) {
      wait_five_seconds();
      if (const auto stop = pending_stop()) return stop->exit_code;
      if (status_of(task).state != TaskState::kAtWork) exit_code = claim_and_run(task);
    }
    return exit_code;
  }

  ExitCode work(FailedTasks failed) {
    warns_of_shared_cpus_ = std::ranges::any_of(experiments_of(plan_), is_for_cpu);
    for (;;) {
      const bool was_busy = run_available_tasks(failed);
      const bool waits = busy_ == BusyTasks::kWait && num_busy_ > 0;
      if (must_end() || (!was_busy && !waits)) return end();
      if (!was_busy) wait_five_seconds();
    }
  }

 private:
  static constexpr int kMaxMachineFailures = 3;

  TaskStatus status_of(int64_t task) const { return status_of_task(request_.folder, plan_, task); }
  bool must_end() const { return pending_stop().has_value() || num_machine_failures_ >= kMaxMachineFailures; }

  ExitCode claim_and_run(int64_t task) {
    TaskStatus status = status_of(task);
    if (status.state == TaskState::kDone) {
      logger_.info(fmt::format("task {} is done", task));
      return ExitCode::kDone;
    }
    require_hardware(plan_);
    const auto claim = Claim::take(request_.folder / kClaimsFolder, name_of_task(task));
    if (claim != nullptr) return ClaimedTask(plan_, task, *claim, request_, logger_).run();
    status = status_of(task);
    if (status.state == TaskState::kDone) return ExitCode::kDone;
    logger_.info(fmt::format("task {} is taken by {}", task, holder_text(status)));
    return ExitCode::kAtWorkElsewhere;
  }

  // Returns whether there was any work.
  bool run_available_tasks(FailedTasks failed) {
    bool was_busy = false;
    num_busy_ = num_failed_before_ = 0;
    for (int64_t task = 0; task < plan_.num_tasks() && !must_end(); ++task)
      if (is_available(task, failed)) was_busy |= work_on(task);
    return was_busy;
  }

  bool is_available(int64_t task, FailedTasks failed) {
    if (tried_.contains(task)) return false;
    const TaskStatus status = status_of(task);
    if (status.state == TaskState::kAtWork) count_busy(status);
    if (status.state != TaskState::kFailed)
      return status.state == TaskState::kFree || status.state == TaskState::kStopped;
    if (failed == FailedTasks::kRetry) return true;
    ++num_failed_before_;
    record_first_failure(exit_code_, static_cast<ExitCode>(status.failure->exit_code));
    return false;
  }

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

  // Returns false if another worker claimed the task first.
  bool work_on(int64_t task) {
    const ExitCode exit_code = claim_and_run(task);
    if (exit_code == ExitCode::kAtWorkElsewhere) {
      ++num_busy_;
      return false;
    }
    tried_.insert(task);
    num_machine_failures_ = may_be_machine_failure(exit_code) ? num_machine_failures_ + 1 : 0;
    record_first_failure(exit_code_, exit_code);
    return true;
  }

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

  const SweepPlan& plan_;
  const BusyTasks busy_;
  const RunRequest& request_;
  Logger& logger_;
  std::set<int64_t> tried_;  // by this worker
  bool warns_of_shared_cpus_ = false;
  int num_machine_failures_ = 0;  // in a row
  int64_t num_busy_ = 0;
  int64_t num_failed_before_ = 0;
  ExitCode exit_code_ = ExitCode::kDone;
};

}  // namespace

ExitCode run_tasks(const SweepPlan& plan, int64_t first, int64_t step, BusyTasks busy, const RunRequest& request,
                   Logger& logger) {
  if (step == 0 && first >= plan.num_tasks())
    throw_error(ExitCode::kUsage, "--task: got {}, but the plan has tasks 0 to {}", first, plan.num_tasks() - 1);
  const StopSignalGuard signals(stop_texts());
  Worker worker(plan, busy, request, logger);
  if (step == 0) return worker.run_task(first);
  ExitCode exit_code = ExitCode::kDone;
  for (int64_t task = first; task < plan.num_tasks() && !pending_stop(); task += step)
    record_first_failure(exit_code, worker.run_task(task));
  return stop_code_or(exit_code);
}

ExitCode work_on_tasks(const SweepPlan& plan, FailedTasks failed, BusyTasks busy, const RunRequest& request,
                       Logger& logger) {
  const StopSignalGuard signals(stop_texts());
  return Worker(plan, busy, request, logger).work(failed);
}

}  // namespace rnnlab
