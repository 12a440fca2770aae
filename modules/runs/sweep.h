// SPDX-License-Identifier: Apache-2.0
// Runs the experiments of a configuration: the combinations of its sweep, as often as each is measured. sweep.cpp runs
// them one after another, rounds.cpp measures in rounds of processes, and planned_tasks.cpp runs the tasks of a plan,
// which several machines share. The time of all runs is estimated here too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/document.h"
#include "base/config/sweep.h"
#include "base/error.h"
#include "base/system/logger.h"
#include "runs/dry_run.h"
#include "runs/experiment.h"
#include "runs/learning_rate_finder.h"
#include "runs/run.h"
#include "runs/sweep/claim.h"
#include "runs/sweep/plan.h"
#include "runs/sweep_file.h"

namespace rnnlab {

struct ExperimentCase {
  std::string label;  // "device=cpu layer=naive"; "" if there is only one case
  Experiment experiment;
  std::map<std::string, config::Place> places;  // of the keys that are set, for messages
  config::Repeats repeats = {};
};

// Returns every combination of the document's sweep, or its single experiment.
std::vector<ExperimentCase> read_cases(const config::Document& document, config::Findings& findings);

// Adds a finding if two cases of the sweep have equal settings. Values that are spelled differently may be equal: 0.001
// and 1e-3. Drawn values may repeat by chance.
void refuse_equal_cases(const config::Sweep& sweep, std::span<const Experiment> cases, config::Findings& findings);

// Returns the number of runs with all repeats.
int64_t num_runs_of(const std::vector<ExperimentCase>& cases);

// Returns the label of the case, or the name of the experiment.
std::string name_of(const ExperimentCase& one);

std::vector<Experiment> experiments_of(const std::vector<ExperimentCase>& cases);

// Returns the runs of a sweep that runs each case once.
std::vector<SweepEntry> entries_of(const std::vector<ExperimentCase>& cases);

// Cases with equal results of this function are compared with each other. Such cases may differ in the settings that a
// comparison varies (device, layer, convolution) and in settings that do not change the work of an epoch; `rnnlab
// compare` has the same rule.
std::string comparison_of(const Experiment& experiment);

// Returns the plan of a sweep from the cases of its files (runs/sweep/plan.h), for machines with `hardware`. Throws
// UserError kUsage if the cases repeat rounds until a precision is reached, because the number of rounds is then not
// known in advance, or if there are too many runs.
SweepPlan plan_sweep(const std::vector<ExperimentCase>& cases, Spread spread, std::vector<std::string> hardware,
                     std::vector<std::string> command_line);

// Describes the end of a command with one run or several: the finished runs, the exit code, and whether the rest can be
// resumed.
struct RunAllOutcome {
  std::vector<RunOutcome> finished;      // in order, including one that a signal interrupted
  ExitCode exit_code = ExitCode::kDone;  // of the signal, or of the first run that failed
  bool can_resume = false;               // --resume can do the unfinished part
  std::string beyond_network = {};       // why this process ended, if it cannot reach rank 0, which else reports it
};

// Runs several experiments one after another: the combinations of a sweep, or the files of one command. An experiment
// that fails is reported through the logger and the others still run; a signal (stop_signal.h) stops them all.
//
// Cases with repeats are measured in rounds (run_in_rounds). If the CPU is busy, all cases without training.num_threads
// get the same number of threads (fastest_layer.h). Several cases have a sweep file (sweep_file.h) until all have run.
// Installs a StopSignalGuard, so the caller must not have one.
RunAllOutcome run_all(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// Does a dry run (dry_run.h) of the first of the cases, with the number of threads that run_all would choose. Throws
// the UserErrors of run_experiment, and kUsage if several processes would train the run. Installs no StopSignalGuard,
// because nothing has to be saved.
DryRun dry_run_first(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// Finds a learning rate (learning_rate_finder.h) for the first of the cases, in the way of dry_run_first.
RateSearch find_learning_rate_first(const std::vector<ExperimentCase>& cases, const RunRequest& request,
                                    Logger& logger);

// Resumes a run, by its folder, or a sweep, by its file. Runs of a sweep that have ended are only reported again,
// stopped runs are resumed, and the others begin in the folder of the sweep's file. `overrides` work as in
// resume_experiment. Throws UserError kUsage if the path is neither a run nor a sweep.
RunAllOutcome resume_all(const std::filesystem::path& run_or_sweep, const std::vector<std::string>& overrides,
                         const RunRequest& request, Logger& logger);

// Runs one run of a sweep with repeats, in the process that the command started for it. `entry` counts from 0.
RunAllOutcome run_entry_of_sweep(const std::filesystem::path& sweep, size_t entry, const RunRequest& request,
                                 Logger& logger);

// A run's process prints this mark before its folder, on a separate line of its stdout, because libraries may print
// other lines there; those lines are copied to the stdout of the command.
inline constexpr std::string_view kFolderMark = "run folder: ";

// The first failure gives the exit code. A run that diverged would diverge again; any other run can be resumed.
void record_failure(RunAllOutcome& all, ExitCode exit_code);

std::string how_to_resume(const std::filesystem::path& run_or_sweep);

// Call this function when the command has run all of its runs except `num_left` of `count`, which a signal prevented.
// The function logs how to resume these runs, or removes the sweep's file (null if the command has no sweep).
void end_command(RunAllOutcome& all, size_t num_left, size_t count, const SweepFile* sweep, const RunRequest& request,
                 Logger& logger);

// Does what run_all does, for cases with repeats: in each round every case runs once, in a process of its own, and the
// order is drawn again (runs/sweep/plan.h). So properties of one process, such as its memory addresses, vary between
// rounds, and other load of the machine affects all cases. The file of the sweep keeps what is needed to resume. A case
// that fails is left out of later rounds.
RunAllOutcome run_in_rounds(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// Does what resume_all does, for a sweep that has repeats.
RunAllOutcome resume_rounds(SweepFile& sweep, const RunRequest& request, Logger& logger);

// A run's process prints this mark before the reason of a failure, on one line of its stdout.
inline constexpr std::string_view kFailureMark = "run failed: ";

// Returns the experiments of a plan's cases, without those that this version of the program cannot read: the tasks of
// these report why.
std::vector<Experiment> experiments_of(const SweepPlan& plan);

// Runs one run of a plan, in the process that its worker started for it. The run begins or resumes in the folder that
// the plan names; a run that has ended is not trained again. `folder` is that of the plan; `task` and `position` count
// from 0. `overrides` are settings that depend on the machine, for a run that begins. Returns the exit code of the run;
// a failure is logged and passed to `on_failure`. Installs a StopSignalGuard, so the caller must not have one. Throws
// UserError kUsage if the plan has no such run.
ExitCode run_planned(const std::filesystem::path& folder, int64_t task, int64_t position,
                     const std::vector<std::string>& overrides, RunRequest request, Logger& logger,
                     const std::function<void(const std::string&)>& on_failure);

// Runs the tasks of a plan. A worker claims a task, starts a process for each of its runs, one after another, and
// releases the task when it is done, failed or stopped. Every command here may be repeated at any time, on any machine
// that can access the folder: finished runs are not changed, and stopped runs are resumed. The first worker decides the
// number of threads as run_all does, for all runs of the plan that leave it open, so that their times can be compared.
struct TaskRequest {
  std::filesystem::path folder;                   // of the plan
  std::string program = {};                       // that starts the runs; "": this one
  std::vector<std::string> child_arguments = {};  // further arguments of `program`, such as --quiet
  MeasureSpeeds measure_speeds = {};              // for numbers of threads; by default that of fastest_layer.h
  ClaimTiming timing = {};
};

enum class FailedTasks { kSkip, kRetry };  // tasks that failed before; each is tried once
enum class BusyTasks { kSkip, kWait };     // with kWait, tasks of dead workers are taken over

// Runs exactly this task. Returns kDone also if the task was done before, kAtWorkElsewhere if another process works on
// the task, the code of the signal that stopped the task, else the exit code of the task's first run that failed. A
// task that failed before is tried again. Throws UserError kUsage if the plan has no such task. Installs a
// StopSignalGuard, so the caller must not have one. Throws UserError kDevice if the plan is for other hardware.
ExitCode run_task(const SweepPlan& plan, int64_t task, BusyTasks busy, const TaskRequest& request, Logger& logger);

// Runs the tasks `first`, `first` + `step` and so on. The first failure gives the exit code, else kAtWorkElsewhere if
// another process works on one of them.
ExitCode run_every_nth_task(const SweepPlan& plan, int64_t first, int64_t step, BusyTasks busy,
                            const TaskRequest& request, Logger& logger);

// Repeatedly takes the next task on which no process works, until all are taken. Ends after three failures in a row
// that are due to the machine and not to a run's settings or data, so that one broken machine does not use up the
// sweep.
ExitCode work_on_tasks(const SweepPlan& plan, FailedTasks failed, BusyTasks busy, const TaskRequest& request,
                       Logger& logger);

// Estimates how long the rest of a sweep takes from the runs that have ended. The estimate of a case that has run
// before is the mean of its own times. The time of any other case is unknown, so it is expected between the shortest
// and the longest time of the others.
class SweepClock {
 public:
  void record(int64_t case_number, double seconds);

  // `cases` has the case of each run that has not ended. Returns "" before the first run has ended, then for example
  // "3 min 20 s so far, about 10 min 0 s left", "... 8 min 0 s to 15 min 0 s left", or "... about 10 min 0 s left if
  // each run takes as long as the first".
  std::string text(std::span<const int64_t> cases) const;

 private:
  std::map<int64_t, std::vector<double>> seconds_;  // by case
};

}  // namespace rnnlab
