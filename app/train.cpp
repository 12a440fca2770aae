// SPDX-License-Identifier: Apache-2.0
// rnnlab train: runs experiment files, with a separate folder for each combination of a sweep, and prints the
// comparison.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/Option.hpp>
#include <functional>

#include "arguments.h"
#include "base/config/sweep.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "output.h"
#include "results/comparison_output.h"
#include "results/own_cells.h"
#include "results/run_folder.h"
#include "run_names.h"
#include "runs/auto_resume.h"
#include "runs/child_process.h"
#include "runs/devices.h"
#include "runs/sweep.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kTrainFooter = R"(
The log goes to stderr, the result to stdout, everything to runs/<name>/<start time>-<device>-<layer>/. The link
runs/<name>/latest leads to the newest run.

With --resume auto, one command starts a run, resumes it, or says that it has ended: it takes the newest run of this name
with the same settings. If another process trains that run, the exit code is 75.

Examples:
  rnnlab train experiments/quickstart.yaml device=cpu
  rnnlab train experiments/mnist_rows.yaml device=cpu layer=naive data.num_train=6000
  rnnlab train experiments/mnist_rows.yaml --dry-run
  rnnlab train experiments/mnist_rows.yaml --find-learning-rate
  rnnlab train --resume runs/mnist_rows/2026-11-21T02-59-51Z-cpu-naive training.epochs=10
  rnnlab train --resume mnist_rows                      (the newest run of runs/mnist_rows)
  rnnlab train experiments/mnist_rows.yaml --resume auto
  rnnlab train --task 7 sweeps/quickstart)";

struct TrainOptions {
  std::vector<std::string> arguments;
  std::string resume;  // a run's folder or name, a sweep's file, or kAuto
  std::string out = kRunsFolder;
  CLI::Option* out_option = nullptr;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
  bool dry_run = false;
  bool find_learning_rate = false;
  bool trace = false;
  int64_t trace_steps = 50;
  std::optional<int64_t> repeats;
  std::string turn;    // of a script that measures in rounds: kTurnForm
  bool brief = false;  // like quiet, but with the progress bar
  std::string task;    // task of the plan in the folder that `arguments` names: "7", or "7/100"
  bool wait = false;   // for the end of this task if another worker runs it
  std::pair<std::string, std::string> run_of_book;  // RunOfBook: the one run of this process
};

constexpr std::string_view kAuto = "auto";

constexpr const char* kTurnForm = "MEASUREMENT:ROUND:POSITION:CASE";

// Returns the turn of the single run of a command from a text such as "a1b2:1:2:1".
Turn turn_from(const std::string& text) {
  if (text.empty()) return {};
  const std::vector<std::string> parts = split(text, ':');
  const auto number = [&](size_t i) { return i < parts.size() ? parse_int64(parts[i]).value_or(0) : 0; };
  if (parts.size() != 4 || parts[0].empty() || number(1) < 1 || number(2) < 1 || number(3) < 1)
    throw_error(ExitCode::kUsage, "--turn: got {}, expected {}, a name and three numbers from 1, such as a1b2:1:2:1",
                in_quotes(text), kTurnForm);
  return {.process = "", .measurement = parts[0], .round = number(1), .position = number(2), .case_number = number(3)};
}

// A turn belongs to a single run.
void require_one_run(const std::vector<ExperimentCase>& cases, const TrainOptions& options) {
  if (options.turn.empty() || (cases.size() == 1 && cases[0].repeats.at_most == 1)) return;
  throw_error(ExitCode::kUsage,
              "--turn: the arguments ask for several runs, expected one: leave out sweep and repeats");
}

Verbosity verbosity(const TrainOptions& options) {
  if (options.quiet || (options.brief && !options.verbose)) return Verbosity::kQuiet;
  return options.verbose ? Verbosity::kVerbose : Verbosity::kNormal;
}

std::string summary_line(const RunOutcome& run) {
  const Summary& summary = run.summary;
  std::string line = fmt::format("{}: {} on {}", summary.name, summary.layer, summary.device);
  if (summary.epoch_time) line += fmt::format(", {} an epoch", format_seconds(summary.epoch_time->median_seconds));
  for (const char* metric : {"valid_loss", "valid_accuracy", "valid_rmse"})
    if (const auto found = summary.final_metrics.find(metric); found != summary.final_metrics.end())
      line += fmt::format(", {} {}", metric, format_significant(found->second, 4));
  return fmt::format("{}; {}\n{}\n", line, summary.stop_reason, run.folder.string());
}

std::vector<RunRecord> records_of(const std::vector<RunOutcome>& runs) {
  std::vector<RunRecord> records;
  for (const RunOutcome& run : runs) records.push_back(load_run(run.folder));
  name_own_cells(records);
  return records;
}

// Nothing is compared with a single run, so the reasons to doubt its times are one line. A comparison has them all. A
// run that was stopped says this at its end: until then the last line is the command that resumes it.
void log_remarks(const RunOutcome& outcome, Logger& logger) {
  const RunRecord run = load_run(outcome.folder);
  if (const auto advice = train_longer_advice(run)) logger.info(*advice);
  std::vector<Warning> found = warnings(run.environment);
  for (const Warning& warning : run.summary.warnings) add_once(found, warning);
  const std::string line = one_line_on_times(split_by_times(found).of_times, "train.log has");
  if (!line.empty()) logger.warn(line);
}

void print_results(const RunAllOutcome& all, const TrainOptions& options, Logger& logger) {
  const std::vector<RunOutcome>& runs = all.finished;
  if (runs.empty()) return;
  if (runs.size() == 1 && !options.quiet && !all.can_resume) log_remarks(runs.front(), logger);
  const bool is_one = runs.size() == 1;
  if (is_one && !options.json) return print_text(summary_line(runs.front()));
  const std::vector<RunRecord> records = records_of(runs);
  // The user requested these runs together, so reasons against a fair comparison are reported, not refused.
  const Comparison comparison = compare(records, {.on_difference = OnDifference::kReport});
  const ComparisonAdditions additions = {.over_folds = is_one ? std::nullopt : rank_folds(records)};
  const Detail detail = options.verbose ? Detail::kAll : Detail::kAnswer;
  options.json ? print_data(comparison_json(comparison, additions))
               : print_text(comparison_text(comparison, additions, table_width(), detail));
}

// Returns the arguments of the process for one run of a measurement, except the run itself.
std::vector<std::string> child_arguments(const TrainOptions& options) {
  std::vector<std::string> arguments;
  if (options.quiet) arguments.emplace_back("--quiet");
  if (options.verbose) arguments.emplace_back("--verbose");
  if (options.trace) {
    arguments.emplace_back("--trace");
    arguments.push_back(fmt::format("--trace-steps={}", options.trace_steps));
  }
  return arguments;
}

std::string argument_of_repeats(const TrainOptions& options) {
  const std::string key = std::string(config::kRepeatsKey) + "=";
  for (const std::string& argument : options.arguments)
    if (argument.starts_with(key))
      throw_error(ExitCode::kUsage, "--repeats {} and {} set the same value twice: remove one of them",
                  *options.repeats, argument);
  return key + std::to_string(*options.repeats);
}

std::vector<ExperimentCase> cases_of(const TrainOptions& options) {
  require_folder_for_runs(options.out);
  std::vector<std::string> arguments = options.arguments;
  if (options.repeats) arguments.push_back(argument_of_repeats(options));
  return read_all_cases("train", arguments);
}

// Runs a trial of the first case, which writes nothing, and prints its result.
template <class Result>
ExitCode try_first(const TrainOptions& options,
                   const std::function<Result(const std::vector<ExperimentCase>& cases)>& trial,
                   std::string (*json)(const Result&), std::string (*text)(const Result&)) {
  Result result;
  report_once([&] {
    const std::vector<ExperimentCase> cases = cases_of(options);
    require_one_run(cases, options);
    result = trial(cases);
  });
  options.json ? print_data(json(result)) : print_text(text(result));
  return ExitCode::kDone;
}

ExitCode train_dry(const TrainOptions& options, const RunRequest& request, Logger& logger) {
  const auto trial = [&](const auto& cases) { return dry_run_first(cases, request, logger); };
  return try_first<DryRun>(options, trial, dry_run_json, dry_run_text);
}

ExitCode search_rate(const TrainOptions& options, const RunRequest& request, Logger& logger) {
  const auto trial = [&](const auto& cases) { return find_learning_rate_first(cases, request, logger); };
  return try_first<RateSearch>(options, trial, rate_search_json, rate_search_text);
}

// A sweep has several runs, and which of them the same command means is not known without the sweep's file.
const ExperimentCase& only_case(const std::vector<ExperimentCase>& cases) {
  const int64_t num_runs = num_runs_of(cases);
  if (num_runs == 1) return cases.front();
  throw_error(
      ExitCode::kUsage,
      "--resume auto: the arguments ask for {} runs, expected one: choose it by key=value and repeats=1; or resume a "
      "sweep by its file, such as --resume runs/sweep-....json; or use `rnnlab sweep plan`, whose commands may "
      "be repeated",
      num_runs);
}

RunAllOutcome run_new(const TrainOptions& options, const RunRequest& request, Logger& logger) {
  const std::vector<ExperimentCase> cases = cases_of(options);
  if (options.resume == kAuto) return start_or_resume(only_case(cases), request, logger);
  require_one_run(cases, options);
  return run_all(cases, request, logger);
}

// The name of a sweep's file that is missing is left as it is, because resume_all explains why.
std::string run_to_resume(const TrainOptions& options) {
  const bool exists = is_path_of_runs(options.resume);
  if (exists && options.out_option->count() > 0)
    throw_error(ExitCode::kUsage,
                "--resume and --out cannot be used together if --resume names a path, and {} exists: remove --out",
                options.resume);
  return !exists && options.resume.ends_with(".json") ? options.resume
                                                      : named_run_to_resume(options.resume, options.out);
}

RunAllOutcome run(const TrainOptions& options, const RunRequest& request, Logger& logger) {
  if (options.resume.empty() || options.resume == kAuto) return run_new(options, request, logger);
  const std::string resumed = run_to_resume(options);
  auto [files, overrides] = split_arguments(options.arguments, Experiment::schema().spec());
  std::erase_if(files, [&](const std::string& file) { return without_latest_link(file) == resumed; });  // runs/name/*
  if (!files.empty())
    throw_error(ExitCode::kUsage,
                "train --resume uses the settings of the run, so {} is not allowed; give overrides only, such as "
                "training.epochs=10; or use --resume auto, which finds the run of an experiment file",
                in_quotes(files.front()));
  return resume_all(resumed, overrides, request, logger);
}

// ---- a plan's ----

std::filesystem::path plan_folder(const TrainOptions& options) {
  if (options.arguments.size() == 1) return options.arguments.front();
  throw_error(
      ExitCode::kUsage,
      "--task: got {}, expected only the folder of a plan that `rnnlab sweep plan` made; the plan has the settings",
      counted(std::ssize(options.arguments), "argument"));
}

// Returns 7 and 100 for "7/100", and 7 and 0 for "7".
std::pair<int64_t, int64_t> numbers_of_task(const std::string& text) {
  const std::vector<std::string> parts = split(text, '/');
  const auto first = parse_int64(parts.front());
  const auto step = parts.size() == 2 ? parse_int64(parts[1]) : std::optional<int64_t>(0);
  const bool is_valid_plan = parts.size() <= 2 && first && step && *first >= 0;
  if (is_valid_plan && (parts.size() == 1 || (*step > 0 && *first < *step))) return {*first, *step};
  throw_error(ExitCode::kUsage,
              "--task: got {}, expected the number of a task, such as 7, or 7/100 for the tasks 7, 107, 207 and so on",
              in_quotes(text));
}

ExitCode train_task(const TrainOptions& options, RunRequest request, Logger& logger) {
  refuse_launcher("--task", ", and a task needs one: start one, and set devices in the plan");
  const auto [first, step] = numbers_of_task(options.task);
  request.folder = plan_folder(options);
  const SweepPlan plan = read_plan(request.folder);
  const auto busy = options.wait ? BusyTasks::kWait : BusyTasks::kSkip;
  return run_tasks(plan, first, step, busy, request, logger);
}

ExitCode train_as_rank(const TrainOptions& options, const CommandLine& command_line) {
  const Terminal console = is_first_process() ? inspect_terminal(2) : Terminal{};
  Logger logger(is_first_process() ? verbosity(options) : Verbosity::kErrors, console);
  const RunRequest request{.out = options.out,
                           .command_line = command_line,
                           .console = options.quiet ? Terminal{} : console,
                           .trace_steps = options.trace ? std::optional(options.trace_steps) : std::nullopt,
                           .turn = turn_from(options.turn),
                           .child_arguments = child_arguments(options)};
  if (!options.run_of_book.first.empty()) {
    end_with_parent(STDOUT_FILENO);
    return run_of_book({options.run_of_book.first, options.run_of_book.second}, options.arguments, request, logger);
  }
  if (!options.task.empty()) return train_task(options, request, logger);
  if (options.dry_run) return train_dry(options, request, logger);
  if (options.find_learning_rate) return search_rate(options, request, logger);
  RunAllOutcome all;
  report_once([&] { all = run(options, request, logger); });
  if (!all.beyond_network.empty())
    print_notice("rnnlab: warning: " + all.beyond_network +
                 "; if rank 0 still runs, its output says why the run ended\n");
  if (!is_first_process()) return all.exit_code;
  if (all.exit_code == ExitCode::kDone) {
    print_results(all, options, logger);
    return ExitCode::kDone;
  }
  try {
    print_results(all, options, logger);
  } catch (const UserError& error) {
    logger.error(error.what());  // the exit code still describes the earlier result
  }
  return all.exit_code;
}

// All processes of a launcher find an error in the launcher's variables, so only the first process reports it.
ExitCode train(const TrainOptions& options, const CommandLine& command_line) {
  try {
    this_launch();
  } catch (const UserError& failure) {
    if (is_certainly_not_rank_0(variable_of_this_process)) return failure.exit_code();
    throw;
  }
  try {
    return train_as_rank(options, command_line);
  } catch (const ReportedElsewhere& failure) {
    return failure.exit_code();
  }
}

// Options about which runs are trained, and where.
void add_choice_of_runs(CLI::App* command, TrainOptions& options) {
  auto* task = command->add_option("--task", options.task,
                                   "run this task of the plan in DIR (rnnlab sweep plan): a number from 0, or K/N for "
                                   "the tasks K, K+N and so on");
  task->type_name("K[/N]");
  command
      ->add_flag("--wait", options.wait, "if another worker runs the task, wait, and take it over if that worker dies")
      ->needs(task);
  auto* out = command->add_option("--out", options.out, "folder for new run folders");
  out->type_name("DIR")->capture_default_str()->excludes(task);
  auto* dry_run = command->add_flag("--dry-run", options.dry_run,
                                    "write nothing: train a few batches of the first run, and print what it needs");
  dry_run->excludes(task);
  auto* find_rate = command->add_flag("--find-learning-rate", options.find_learning_rate,
                                      "write nothing: train about 100 steps of the first run with learning rates from "
                                      "1e-6 to 10, and suggest one");
  find_rate->excludes(task)->excludes(dry_run);
  options.out_option = out;
  command
      ->add_option("--resume", options.resume,
                   "resume this run, in its folder, from its newest checkpoint; or a sweep, given its file; auto: the "
                   "newest run with the settings of FILE, or a new run if there is none")
      ->type_name("RUN|auto")
      ->excludes(dry_run)
      ->excludes(find_rate)
      ->excludes(task);
  command
      ->add_option("--repeats", options.repeats,
                   "how often each case is measured, each time in a new process; as the key `repeats`")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, config::kMostRepeats))
      ->excludes("--resume")
      ->excludes(task);
}

void add_output_options(CLI::App* command, TrainOptions& options) {
  auto* quiet = command->add_flag("-q,--quiet", options.quiet,
                                  "errors and warnings only, without those about times, no progress bar");
  command->add_flag("-v,--verbose", options.verbose, "more details")->excludes(quiet);
  command->add_flag("--json", options.json, "print the result as JSON");
  auto* trace = command->add_flag("--trace", options.trace,
                                  "write trace.json, what CPU and GPU do in the first steps after warm-up");
  trace->excludes("--dry-run")->excludes("--find-learning-rate");
  command->add_option("--trace-steps", options.trace_steps, "number of steps to trace")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str()
      ->needs(trace);
}

// Options for processes that rnnlab and its scripts start.
void add_hidden_options(CLI::App* command, TrainOptions& options) {
  // This option is for the process of a run (run_process.h).
  command->add_option("--run-of-book", options.run_of_book)->group("");
  // This option is for scripts that let different programs take turns (experiments/peers.py).
  command->add_option("--turn", options.turn)->type_name(kTurnForm)->excludes("--resume")->group("");
  command->add_flag("--brief", options.brief)->group("");
}

}  // namespace

void add_train(CLI::App& program, Action& chosen) {
  const auto [command, options] =
      add_verb<TrainOptions>(program, chosen, "train", "Train what experiment files describe", kTrainFooter, train);
  add_experiment_arguments(*command, options->arguments);
  add_choice_of_runs(command, *options);
  add_output_options(command, *options);
  add_hidden_options(command, *options);
}

}  // namespace rnnlab::app
