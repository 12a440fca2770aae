// SPDX-License-Identifier: Apache-2.0
#include "runs/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "results/work_settings.h"
#include "runs/devices.h"
#include "runs/fastest_layer.h"
#include "runs/resume.h"
#include "runs/support.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

constexpr int64_t kMaxPlannedRuns = 100'000;

void require_plannable(const std::vector<ExperimentCase>& cases) {
  for (const ExperimentCase& one : cases)
    if (one.repeats.until)
      throw_error(
          ExitCode::kUsage,
          "{}: repeats.until needs results, but a plan is made before the runs; use a number, such as repeats=5",
          name_of(one));
  if (const int64_t count = num_runs_of(cases); count > kMaxPlannedRuns)
    throw_error(ExitCode::kUsage, "the files ask for {} runs, expected at most {}; plan several sweeps", count,
                kMaxPlannedRuns);
}

}  // namespace

void refuse_equal_cases(const config::Sweep& sweep, std::span<const Experiment> cases, config::Findings& findings) {
  if (sweep.is_drawn() || !findings.empty()) return;
  std::map<std::string, size_t> numbers;  // by settings
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto [first, is_new] = numbers.emplace(config::print(cases[i], Experiment::schema()), i);
    if (is_new) continue;
    findings.add(sweep.place(), fmt::format("sweep: {} and {} are equal settings, which would run twice: remove one of "
                                            "the two, or write repeats: 2 to run every case twice",
                                            sweep.label(first->second), sweep.label(i)));
    return;
  }
}

std::vector<ExperimentCase> read_cases(const config::Document& whole, config::Findings& findings) {
  const config::Repeats repeats = config::repeats_of(whole, findings);
  const config::Document document = config::without_repeats(whole);
  const auto folder = std::filesystem::path(document.source()).parent_path();
  std::vector<ExperimentCase> cases, runs;
  const config::Sweep sweep(document, findings, &Experiment::schema().spec());
  for (size_t i = 0; i < sweep.num_cases(); ++i) {
    const config::Document one = sweep.document(i);
    Experiment experiment = read_case(one, findings);
    choose_data(experiment);
    cases.push_back({.label = sweep.label(i),
                     .experiment = with_paths_beside(std::move(experiment), folder),
                     .places = config::places_of_keys(one),
                     .repeats = repeats});
  }
  refuse_equal_cases(sweep, experiments_of(cases), findings);
  for (const ExperimentCase& one : cases) std::ranges::move(with_folds(one), std::back_inserter(runs));
  return runs;
}

std::vector<ExperimentCase> with_folds(const ExperimentCase& one) {
  const DataSettings& data = one.experiment.data;
  if (!data.folds || data.fold) return {one};
  std::vector<ExperimentCase> cases;
  for (int64_t fold = 1; fold <= *data.folds; ++fold) {
    ExperimentCase& of_fold = cases.emplace_back(one);
    of_fold.experiment.data.fold = fold;
    of_fold.label += fmt::format("{}fold={}", one.label.empty() ? "" : " ", fold);
  }
  return cases;
}

int64_t num_runs_of(const std::vector<ExperimentCase>& cases) {
  int64_t count = 0;
  for (const ExperimentCase& one : cases) count += one.repeats.at_most;
  return count;
}

std::string name_of(const ExperimentCase& one) { return one.label.empty() ? one.experiment.name : one.label; }

std::vector<Experiment> experiments_of(const std::vector<ExperimentCase>& cases) {
  std::vector<Experiment> experiments;
  for (const ExperimentCase& one : cases) experiments.push_back(one.experiment);
  return experiments;
}

std::vector<SweepEntry> entries_of(const std::vector<ExperimentCase>& cases) {
  std::vector<SweepEntry> entries;
  for (const ExperimentCase& one : cases)
    entries.push_back({.label = name_of(one),
                       .experiment = config::print(one.experiment, Experiment::schema()),
                       .folder = std::nullopt,
                       .case_number = std::ssize(entries) + 1});
  return entries;
}

std::string comparison_of(const Experiment& experiment) {
  const Settings settings = effective_settings(experiment);
  const WorkHashes hashes = work_hashes(settings);
  std::string text = fmt::format("{}\n{}\n", hashes.model, hashes.training);
  for (const auto& [key, value] : settings) {
    const bool is_held_equal = key.starts_with("data.") || key == "seed" || key == "precision" ||
                               key == "model.initial_weights" || key == "training.batch_size" ||
                               key == "training.num_threads";
    if (is_held_equal) text += fmt::format("{}={}\n", key, value);
  }
  return text;
}

SweepPlan plan_sweep(const std::vector<ExperimentCase>& cases, Spread spread, std::vector<std::string> hardware,
                     std::vector<std::string> command_line) {
  require_plannable(cases);
  SweepPlan plan{.measurement = random_name(),
                 .spread = spread,
                 .command_line = std::move(command_line),
                 .cases = {},
                 .tasks = {},
                 .hardware = std::move(hardware)};
  std::vector<PlanSide> sides;
  for (const ExperimentCase& one : cases) {
    plan.cases.push_back({name_of(one), config::print(one.experiment, Experiment::schema())});
    sides.push_back({name_of(one), comparison_of(one.experiment), one.repeats.at_most});
  }
  plan.tasks = make_tasks(sides, spread, plan.measurement);
  return plan;
}

namespace {

// Returns "" if there is nothing to resume.
std::string advice(const RunAllOutcome& all, const SweepFile* sweep, const RunRequest& request) {
  if (sweep != nullptr) return how_to_resume(sweep->path());
  if (all.exit_code == ExitCode::kUsage) return "";                              // the run would be refused again
  if (all.finished.empty()) return pending_stop() ? request.how_to_resume : "";  // before the first step of the run
  const auto& folder = all.finished.back().folder;
  return has_checkpoint(folder) ? how_to_resume(folder) : "";
}

// The exit code of a signal promises that everything was saved; these failures contradict the promise.
bool is_replaced_by_signal(ExitCode exit_code) {
  return exit_code != ExitCode::kDevice && exit_code != ExitCode::kCheckpoint && exit_code != ExitCode::kInternal;
}

}  // namespace

std::string how_to_resume(const std::filesystem::path& run_or_sweep) {
  return "to resume: rnnlab train --resume " + shell_quoted(run_or_sweep.string());
}

void end_command(RunAllOutcome& all, size_t num_left, size_t count, const SweepFile* sweep, const RunRequest& request,
                 Logger& logger) {
  if (const auto stop = pending_stop()) {
    if (num_left > 0) logger.warn(fmt::format("{}: {} of {} runs not started", stop->text, num_left, count));
    if (is_replaced_by_signal(all.exit_code)) all.exit_code = stop->exit_code;
    all.can_resume = true;
  }
  const std::string line = all.can_resume ? advice(all, sweep, request) : "";
  if (!line.empty()) logger.info(line);
  if (!all.can_resume && sweep != nullptr) sweep->remove();
}

namespace {

// This warning comes before the other runs take their time.
void warn_of_failing_runs(const std::vector<ExperimentCase>& cases, AskGpu ask, Logger& logger) {
  for (const std::string& sentence : unsupported_runs(experiments_of(cases), ask)) logger.warn(sentence);
}

// Runs the only run of a command.
RunAllOutcome run_alone(const std::function<RunOutcome()>& run, const RunRequest& request, Logger& logger) {
  RunAllOutcome all;
  run_here(run, all, logger);
  end_command(all, 0, 1, nullptr, request, logger);
  return all;
}

// An error about a key gets the place where the key is set.
template <class Work>
auto with_places(const ExperimentCase& one, const Work& work) {
  try {
    return work();
  } catch (const ReportedElsewhere&) {
    throw;
  } catch (const UserError& error) {
    throw UserError(error.exit_code(), config::with_place(error.what(), one.places));
  }
}

// On a busy CPU the runs get fewer threads: one number for all runs of a command, so that their times can be compared.
// The number is put into the settings of the runs, so that a resumed run keeps it.
std::vector<ExperimentCase> with_num_threads(std::vector<ExperimentCase> cases, const MeasureSpeeds& measure,
                                             Logger& logger) {
  if (std::ranges::none_of(experiments_of(cases), chooses_num_threads)) return cases;
  const auto choice = choose_num_threads(measure(default_num_threads()));
  if (!choice) return cases;
  logger.warn(fmt::format(
      "The CPU is busy: {}. These runs use training.num_threads: {}; set the key to choose a different number.",
      choice->reason, choice->num_threads));
  for (ExperimentCase& one : cases)
    if (has_default_threads(one.experiment)) one.experiment.training.num_threads = choice->num_threads;
  return cases;
}

bool has_repeats(const ExperimentCase& one) { return one.repeats.at_most > 1; }

void refuse_repeats_with_launcher(const std::vector<ExperimentCase>& cases) {
  if (!this_launch() || std::ranges::none_of(cases, has_repeats)) return;
  throw_error(ExitCode::kUsage, "repeats: starts new processes, but {} started this one; remove repeats",
              config::name_of(this_launch()->launcher));
}

// Repeats run in processes of their own, and so do the ranks of a run.
bool needs_own_processes(const ExperimentCase& one) { return has_repeats(one) || needs_ranks(one.experiment); }

void refuse_sweep_with_launcher() {
  refuse_launcher("sweep",
                  ", which train one run: start one run at a time, or set devices so that rnnlab starts the processes");
}

// Repeats measure times. Their runs have one seed, so on a CPU their losses are equal.
void note_one_seed(const std::vector<ExperimentCase>& cases, Logger& logger) {
  const auto is_repeated_fold = [](const ExperimentCase& one) { return one.experiment.data.fold && has_repeats(one); };
  const auto has_first_seed = [&](const ExperimentCase& one) {
    return one.experiment.seed == cases.front().experiment.seed;
  };
  if (!std::ranges::any_of(cases, is_repeated_fold) || !std::ranges::all_of(cases, has_first_seed)) return;
  logger.info(
      "repeats run each fold again with the same seed; to see how much a back-test depends on the seed, "
      "sweep it: \"sweep={seed: [1, 2, 3]}\"");
}

// A trial trains a few steps of the first case in this process, and writes nothing.
struct Trial {
  const char* option;
  const char* what;
};

constexpr Trial kDryRun = {"--dry-run", "a dry run"};
constexpr Trial kRateSearch = {"--find-learning-rate", "the search"};

void refuse_trial_by_several(const Trial& trial, const Experiment& experiment) {
  if (this_launch())
    throw_error(ExitCode::kUsage, "{}: {} started {}, and {} is one process: start it without {}", trial.option,
                config::name_of(this_launch()->launcher), counted(this_launch()->size, "process"), trial.what,
                config::name_of(this_launch()->launcher));
  if (!needs_ranks(experiment)) return;
  const int64_t count = num_devices(experiment);
  throw_error(ExitCode::kUsage,
              "{}: devices: {} processes would train this run, and {} is one process; set devices=1, and "
              "training.batch_size={} for the part of one process",
              trial.option, count, trial.what, (experiment.training.batch_size + count - 1) / count);
}

std::vector<ExperimentCase> cases_for(const Trial& trial, const std::vector<ExperimentCase>& wanted,
                                      const RunRequest& request, Logger& logger) {
  refuse_trial_by_several(trial, wanted.front().experiment);
  std::vector<ExperimentCase> cases = with_num_threads(wanted, request.measure_speeds, logger);
  if (cases.size() == 1) return cases;
  logger.info(fmt::format("=== case 1 of {}: {}", cases.size(), name_of(cases.front())));
  warn_of_failing_runs(cases, AskGpu::kYes, logger);
  return cases;
}

// Throws the error of the first case if no case has its devices on this machine, so that no run begins.
void require_devices_of_any(const std::vector<ExperimentCase>& cases) {
  const auto has_devices = [](const ExperimentCase& one) { return !missing_devices(one.experiment); };
  if (std::ranges::any_of(cases, has_devices)) return;
  with_places(cases.front(), [&] { require_devices(cases.front().experiment); });
}

}  // namespace

RunOutcome run_case(const ExperimentCase& one, const RunRequest& request, Logger& logger) {
  return with_places(one, [&] { return run_experiment(one.experiment, request, logger); });
}

RunAllOutcome run_all(const std::vector<ExperimentCase>& wanted, const RunRequest& request, Logger& logger) {
  const StopSignalGuard signals({"training stops after the current step", kLostTraining});
  const std::vector<ExperimentCase> cases =
      this_launch() ? wanted : with_num_threads(wanted, request.measure_speeds, logger);
  refuse_repeats_with_launcher(cases);
  const bool in_rounds = std::ranges::any_of(cases, needs_own_processes);
  if (cases.size() == 1 && !in_rounds)
    return run_alone([&] { return run_case(cases.front(), request, logger); }, request, logger);
  if (!in_rounds) refuse_sweep_with_launcher();
  require_devices_of_any(cases);
  note_one_seed(cases, logger);
  warn_of_failing_runs(cases, in_rounds ? AskGpu::kNo : AskGpu::kYes, logger);
  return run_sweep(cases, in_rounds ? InRounds::kYes : InRounds::kNo, request, logger);
}

DryRun dry_run_first(const std::vector<ExperimentCase>& wanted, const RunRequest& request, Logger& logger) {
  const std::vector<ExperimentCase> cases = cases_for(kDryRun, wanted, request, logger);
  const ExperimentCase& first = cases.front();
  DryRun outcome = with_places(first, [&] { return dry_run(first.experiment, request.command_line, logger); });
  outcome.label = first.label;
  outcome.num_cases = std::ssize(cases);
  outcome.num_runs = num_runs_of(cases);
  return outcome;
}

RateSearch find_learning_rate_first(const std::vector<ExperimentCase>& wanted, const RunRequest& request,
                                    Logger& logger) {
  const ExperimentCase first = cases_for(kRateSearch, wanted, request, logger).front();
  RateSearch search =
      with_places(first, [&] { return find_learning_rate(first.experiment, request.command_line, logger); });
  search.label = first.label;
  return search;
}

RunAllOutcome resume_all(const std::filesystem::path& run_or_sweep, const std::vector<std::string>& overrides,
                         const RunRequest& request, Logger& logger) {
  const StopSignalGuard signals({"training stops after the current step", kLostTraining});
  RunRequest resume_request = request;
  resume_request.how_to_resume = how_to_resume(run_or_sweep);
  if (!is_file(run_or_sweep)) {
    const auto resume = [&] {
      if (auto outcome = resume_by_ranks(run_or_sweep, overrides, resume_request)) return *std::move(outcome);
      return resume_experiment(run_or_sweep, overrides, resume_request, logger);
    };
    return run_alone(resume, resume_request, logger);
  }
  if (run_or_sweep.extension() != ".json" || run_or_sweep.filename() == kSummaryFile)
    throw_error(ExitCode::kUsage, "{}: a file, expected the folder of a run or the sweep-....json of a sweep",
                run_or_sweep.string());
  refuse_sweep_with_launcher();
  SweepFile sweep(run_or_sweep);
  resume_request.out = run_or_sweep.parent_path();
  require_changeable_keys(overrides);
  sweep.add_overrides(overrides);
  return resume_sweep(sweep, resume_request, logger);
}

namespace {

double sum_of(const std::vector<double>& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

std::string range_text(double low, double high) {
  constexpr double kClose = 1.25;
  if (high <= kClose * low) return fmt::format("about {} left", format_duration((low + high) / 2));
  return fmt::format("{} to {} left", format_duration(low), format_duration(high));
}

}  // namespace

void SweepClock::record(int64_t case_number, double seconds) { seconds_[case_number].push_back(seconds); }

std::string SweepClock::text(std::span<const int64_t> cases) const {
  std::vector<double> all;
  for (const auto& [_, seconds] : seconds_) all.insert(all.end(), seconds.begin(), seconds.end());
  if (all.empty()) return "";
  const auto [shortest, longest] = std::ranges::minmax(all);
  double low = 0, high = 0;
  bool is_all_known = true;
  for (const int64_t one : cases) {
    const auto found = seconds_.find(one);
    const bool is_known = found != seconds_.end();
    low += is_known ? arithmetic_mean(found->second) : shortest;
    high += is_known ? arithmetic_mean(found->second) : longest;
    is_all_known = is_all_known && is_known;
  }
  const bool is_guess = all.size() == 1 && !is_all_known;
  return fmt::format("{} so far, {}{}", format_duration(sum_of(all)), range_text(low, high),
                     is_guess ? " if each run takes as long as the first" : "");
}

}  // namespace rnnlab
