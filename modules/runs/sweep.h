// SPDX-License-Identifier: Apache-2.0
// Runs the experiments of a configuration: the combinations of its sweep, as often as each is measured.
// sweep_runner.cpp runs them one after another, in this process or in rounds of processes, and planned_tasks.cpp runs
// the tasks of a plan, which several machines share. The time of all runs is estimated here too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/config/document.h"
#include "base/config/sweep.h"
#include "base/error.h"
#include "base/system/logger.h"
#include "runs/dry_run.h"
#include "runs/experiment.h"
#include "runs/learning_rate_finder.h"
#include "runs/plan/claim.h"
#include "runs/plan/plan.h"
#include "runs/run.h"
#include "runs/run_process.h"
#include "runs/sweep_file.h"

namespace rnnlab {

struct ExperimentCase {
  std::string label;  // "device=cpu layer=naive"; "" if there is only one case
  Experiment experiment;
  std::map<std::string, config::Place> places;  // of the keys that are set, for messages
  config::Repeats repeats = {};
};

// Returns every combination of the document's sweep, or its single experiment; of a back-test each of their folds.
std::vector<ExperimentCase> read_cases(const config::Document& document, config::Findings& findings);

// Returns a case for each fold if the case is a back-test (data.folds) and does not name its fold, else the case
// itself.
std::vector<ExperimentCase> with_folds(const ExperimentCase& one);

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

// Returns the plan of a sweep from the cases of its files (runs/plan/plan.h), for machines with `hardware`. Throws
// UserError kUsage if the cases repeat rounds until a precision is reached, because the number of rounds is then not
// known in advance, or if there are too many runs.
SweepPlan plan_sweep(const std::vector<ExperimentCase>& cases, Spread spread, std::vector<std::string> hardware,
                     std::vector<std::string> command_line);

// Runs several experiments one after another: the combinations of a sweep, or the files of one command. An experiment
// that fails is reported through the logger and the others still run; a signal (stop_signal.h) stops them all.
//
// Cases with repeats are measured in rounds (run_sweep). If the CPU is busy, all cases without training.num_threads
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

// Runs the case in this process. An error about a key gets the place where the key is set.
RunOutcome run_case(const ExperimentCase& one, const RunRequest& request, Logger& logger);

std::string how_to_resume(const std::filesystem::path& run_or_sweep);

// Call this function when the command has run all of its runs except `num_left` of `count`, which a signal prevented.
// The function logs how to resume these runs, or removes the sweep's file (null if the command has no sweep).
void end_command(RunAllOutcome& all, size_t num_left, size_t count, const SweepFile* sweep, const RunRequest& request,
                 Logger& logger);

// Without rounds the cases run one after another in this process. In each round every case runs once, in a process of
// its own, and the order is drawn again (runs/plan/plan.h). So properties of one process, such as its memory
// addresses, vary between rounds, and other load of the machine affects all cases. A case that fails is left out of
// later rounds. The file of the sweep keeps what is needed to resume.
enum class InRounds { kNo, kYes };

RunAllOutcome run_sweep(const std::vector<ExperimentCase>& cases, InRounds in_rounds, const RunRequest& request,
                        Logger& logger);
RunAllOutcome resume_sweep(SweepFile& sweep, const RunRequest& request, Logger& logger);

// Returns the experiments of a plan's cases, without those that this version of the program cannot read: the tasks of
// these report why.
std::vector<Experiment> experiments_of(const SweepPlan& plan);

// Runs the tasks of a plan. A worker claims a task, starts a process for each of its runs, one after another, and
// releases the task when it is done, failed or stopped. Every command here may be repeated at any time, on any machine
// that can access the folder: finished runs are not changed, and stopped runs are resumed. The first worker decides the
// number of threads as run_all does, for all runs of the plan that leave it open, so that their times can be compared.
// Of the request only the plan's `folder`, `program`, `child_arguments` and `measure_speeds` count.
enum class FailedTasks { kSkip, kRetry };  // tasks that failed before; each is tried once
enum class BusyTasks { kSkip, kWait };     // with kWait, tasks of dead workers are taken over

// Runs exactly the task `first`, which may have failed before (`step` 0), or the tasks `first`, `first` + `step` and so
// on. Returns kDone also for a task that was done before, kAtWorkElsewhere if another process works on it, the code of
// the signal that stopped it, else the exit code of the first run that failed. Installs a StopSignalGuard, so the
// caller must not have one. Throws UserError kUsage if the plan has no such single task, kDevice if the plan is for
// other hardware.
ExitCode run_tasks(const SweepPlan& plan, int64_t first, int64_t step, BusyTasks busy, const RunRequest& request,
                   Logger& logger);

// Repeatedly takes the next task on which no process works, until all are taken. Ends after three failures in a row
// that are due to the machine and not to a run's settings or data, so that one broken machine does not use up the
// sweep.
ExitCode work_on_tasks(const SweepPlan& plan, FailedTasks failed, BusyTasks busy, const RunRequest& request,
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
