// SPDX-License-Identifier: Apache-2.0
// rnnlab sweep: runs a sweep on several processes or machines, from a plan that is never changed.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cstdlib>

#include "arguments.h"
#include "base/numbers.h"
#include "base/system/gpu_info.h"
#include "base/system/json_fields.h"
#include "base/system/machine.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "output.h"
#include "runs/child_process.h"
#include "runs/devices.h"
#include "runs/plan/plan.h"
#include "runs/plan/status.h"
#include "runs/support.h"
#include "runs/sweep.h"
#include "train/loop/stop_signal.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kSweepFooter = R"(
A plan numbers all runs of experiment files and fixes their folders. Any number of workers on any number of machines that
see the folder then share the runs. docs/sweeps.md has lines for Slurm, GNU parallel, Kubernetes and others.

Examples:
  rnnlab sweep plan experiments/quickstart.yaml repeats=5 --out sweeps/quickstart
  rnnlab sweep work sweeps/quickstart
  rnnlab compare sweeps/quickstart)";

constexpr const char* kPlanFooter = R"(
A task is what a worker takes at a time: by default one round of all sides that may be compared with each other, so that
they run on one machine, one right after the other. --spread runs makes a task of each run, and `rnnlab compare` then
treats sides as measured apart. --spread comparisons makes a task of all rounds of a comparison. --pin accepts only
machines with the same CPU and GPUs, because `rnnlab compare` refuses times of different ones.

Examples:
  rnnlab sweep plan experiments/quickstart.yaml repeats=5 --out sweeps/quickstart
  rnnlab sweep plan experiments/mnist_rows.yaml "sweep={seed: [1, 2, 3, 4]}" --spread runs --out sweeps/seeds)";

constexpr const char* kWorkFooter = R"(
Takes free tasks until all are taken. A worker that is killed loses no finished run: its task is
free at once on the same machine, and on other machines after 10 minutes. It then resumes from its checkpoint.
`rnnlab train --task K DIR` does one task by its number.

Examples:
  rnnlab sweep work sweeps/quickstart
  rnnlab sweep work sweeps/quickstart --gpus --wait
  rnnlab sweep work sweeps/quickstart --retry-failed)";

constexpr const char* kStatusFooter = R"(
Shows what is done, at work (where, and since when), stopped, failed (with the reason) and free. --failed and --left print
numbers of tasks as `sbatch --array` takes them.

Examples:
  rnnlab sweep status sweeps/quickstart
  rnnlab sweep status sweeps/quickstart --failed)";

constexpr const char* kWithoutValue = "true";  // CLI11's value of a flag without a value

// ---- plan ----

struct PlanOptions {
  std::vector<std::string> arguments;
  std::string out;
  std::string pin;  // a model, or kWithoutValue for this machine's hardware; "": any machine
  std::string spread = "rounds";
  bool json = false;
};

std::vector<std::string> hardware_of(const PlanOptions& options) {
  if (options.pin.empty()) return {};
  if (options.pin == kWithoutValue) return hardware_here();
  return {options.pin};
}

std::string pin_text(const SweepPlan& plan) {
  if (plan.hardware.empty()) return "";
  return fmt::format(", for machines with {}{}", join(plan.hardware, " and "),
                     has_hardware(plan) ? "" : " (this machine is not one)");
}

std::string plan_text(const std::string& folder, const SweepPlan& plan, const std::string& hash) {
  constexpr size_t kDigitsShown = 12;
  return fmt::format("{}: {} of {}, numbered from 0{}; hash {}\nRun them with any of these:\n{}", folder,
                     counted(plan.num_tasks(), "task"), counted(plan.num_runs(), "run"), pin_text(plan),
                     hash.substr(0, kDigitsShown), launch_commands(folder, plan.num_tasks()));
}

// The names are those of `sweep status --json`.
std::string plan_json(const std::string& folder, const SweepPlan& plan, const std::string& hash,
                      const std::vector<std::string>& notes) {
  return json_text({{"folder", folder},
                    {"plan", hash},
                    {"num_tasks", plan.num_tasks()},
                    {"num_runs", plan.num_runs()},
                    {"hardware", to_json(plan.hardware)},
                    {"notes", to_json(notes)}});
}

ExitCode plan(const PlanOptions& options, const CommandLine& command_line) {
  if (options.out.empty())
    throw_error(ExitCode::kUsage,
                "sweep plan: no folder given; name a new one for the sweep, such as --out sweeps/first");
  require_folder_for_runs(options.out);
  const SweepPlan plan = plan_sweep(read_all_cases("sweep plan", options.arguments),
                                    *config::from_name<Spread>(options.spread), hardware_of(options), command_line);
  const std::string hash = write_plan(options.out, plan);
  const std::vector<std::string> notes = unsupported_runs(experiments_of(plan), AskGpu::kNo);
  options.json ? print_data(plan_json(options.out, plan, hash, notes)) : print_text(plan_text(options.out, plan, hash));
  print_notes(notes);
  return ExitCode::kDone;
}

void add_plan(CLI::App& sweep, Action& chosen) {
  const auto [command, options] = add_verb<PlanOptions>(
      sweep, chosen, "plan", "Number the runs of experiment files and fix their folders", kPlanFooter, plan);
  add_experiment_arguments(*command, options->arguments);
  command->add_option("--out", options->out, "the folder of the sweep, new or empty")->type_name("DIR");
  command->add_option("--spread", options->spread, "what a task is: runs, rounds or comparisons")
      ->type_name("WHAT")
      ->check(one_of(config::names_of<Spread>()))
      ->capture_default_str();
  command->add_flag("--pin", options->pin,
                    "only machines with this machine's CPU and GPUs; --pin='NVIDIA H200' for any with this GPU");
  command->add_flag("--json", options->json, "print the size of the plan as JSON");
}

// ---- work ----

struct WorkOptions {
  std::string folder;
  std::string gpus;  // of this machine, "0,1", or kWithoutValue for all; "": one worker with the visible ones
  std::string gpu;   // of this worker
  bool retry_failed = false;
  bool wait = false;
  bool ends_with_parent = false;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
};

std::vector<std::string> options_for_child(const WorkOptions& options) {
  if (options.verbose) return {"--verbose"};
  return {options.quiet ? "--quiet" : "--brief"};
}

ExitCode run_single_worker(const WorkOptions& options) {
  // The variable must be set before CUDA starts; the processes of the runs inherit it.
  if (!options.gpu.empty()) ::setenv("CUDA_VISIBLE_DEVICES", options.gpu.c_str(), 1);
  Logger logger(options.quiet ? Verbosity::kQuiet : Verbosity::kNormal, inspect_terminal(2));
  const SweepPlan plan = read_plan(options.folder);
  return work_on_tasks(plan, options.retry_failed ? FailedTasks::kRetry : FailedTasks::kSkip,
                       options.wait ? BusyTasks::kWait : BusyTasks::kSkip,
                       {.folder = options.folder, .child_arguments = options_for_child(options)}, logger);
}

// Returns the visible GPUs, because a scheduler may have given this job only some of them.
std::vector<std::string> gpus_of_this_machine() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) return split(visible, ',');
  std::vector<std::string> uuids;
  for (const GpuInfo& gpu : survey_gpus().gpus) uuids.push_back(gpu.uuid);
  return uuids;
}

std::vector<std::string> gpus_of(const WorkOptions& options) {
  std::vector<std::string> gpus = options.gpus == kWithoutValue ? gpus_of_this_machine() : split(options.gpus, ',');
  std::erase(gpus, "");
  if (gpus.empty())
    throw_error(ExitCode::kDevice, "--gpus: this machine has no NVIDIA GPU; remove the option, or see `rnnlab info`");
  return gpus;
}

// Lines of the workers are not part of the JSON that this process prints.
void print_line(const std::string& line, bool json) { json ? print_notice(line + "\n") : print_data(line + "\n"); }

ExitCode work_on_gpus(const WorkOptions& options) {
  require_hardware(read_plan(options.folder));  // checked once for all workers, so that a mistake gives one message
  std::vector<ChildRequest> workers;
  for (const std::string& gpu : gpus_of(options)) {
    std::vector<std::string> words = {"sweep", "work", options.folder, "--gpu", gpu, "--ends-with-parent"};
    if (options.retry_failed) words.emplace_back("--retry-failed");
    if (options.wait) words.emplace_back("--wait");
    if (options.quiet) words.emplace_back("--quiet");
    if (options.verbose) words.emplace_back("--verbose");
    workers.push_back({std::move(words)});
  }
  const StopSignalGuard signals({"the tasks stop after their current steps", kLostTraining});
  const std::vector<ExitCode> exit_codes =
      run_children(kThisProgram, workers, [&](const std::string& line) { print_line(line, options.json); });
  const auto failed = std::ranges::find_if(exit_codes, [](ExitCode code) { return code != ExitCode::kDone; });
  return failed == exit_codes.end() ? ExitCode::kDone : *failed;
}

ExitCode work(const WorkOptions& options) {
  refuse_launcher("sweep work",
                  " as ranks of one run, and each worker works alone: start one process, and set devices in the plan");
  if (options.ends_with_parent) end_with_parent(STDOUT_FILENO);
  const ExitCode exit_code = !options.gpus.empty() ? work_on_gpus(options) : run_single_worker(options);
  if (!options.json) return exit_code;
  const SweepPlan plan = read_plan(options.folder);
  print_data(status_json(plan, status_of_tasks(options.folder, plan)));
  return exit_code;
}

void add_work(CLI::App& sweep, Action& chosen) {
  const auto [command, options] =
      add_verb<WorkOptions>(sweep, chosen, "work", "Run free tasks of a plan until all are taken", kWorkFooter, work);
  command->add_option("folder", options->folder, "folder of the plan")->type_name("DIR")->required();
  auto* gpus = command->add_flag("--gpus", options->gpus,
                                 "one worker for each GPU of this machine; --gpus=0,1 for these two only");
  command->add_option("--gpu", options->gpu, "the only GPU for the runs of this worker: a number or a UUID")
      ->type_name("GPU")
      ->excludes(gpus);
  command->add_flag("--retry-failed", options->retry_failed, "also take tasks that failed before, each once");
  command->add_flag("--wait", options->wait,
                    "wait for tasks that other workers run, and take over those of workers that died");
  auto* quiet = command->add_flag("-q,--quiet", options->quiet, "warnings and errors only");
  command->add_flag("-v,--verbose", options->verbose, "the whole log of each run")->excludes(quiet);
  command->add_flag("--json", options->json,
                    "print the state of all tasks as JSON at the end, as `rnnlab sweep status --json` does");
  command->add_flag("--ends-with-parent", options->ends_with_parent)->group("");
}

// ---- status ----

struct StatusOptions {
  std::string folder;
  bool failed = false;
  bool left = false;
  bool json = false;
};

void print_numbers(const std::vector<TaskStatus>& tasks, std::initializer_list<TaskState> states) {
  std::vector<int64_t> numbers;
  for (const TaskStatus& status : tasks)
    if (std::ranges::find(states, status.state) != states.end()) numbers.push_back(status.task);
  if (!numbers.empty()) print_data(number_list(numbers) + "\n");
}

ExitCode status(const StatusOptions& options) {
  const SweepPlan plan = read_plan(options.folder);
  const std::vector<TaskStatus> tasks = status_of_tasks(options.folder, plan);
  if (options.failed)
    print_numbers(tasks, {TaskState::kFailed});
  else if (options.left)
    print_numbers(tasks, {TaskState::kFailed, TaskState::kStopped, TaskState::kFree});
  else if (options.json)
    print_data(status_json(plan, tasks));
  else
    print_text(status_text(options.folder, plan, tasks));
  return ExitCode::kDone;
}

void add_status(CLI::App& sweep, Action& chosen) {
  const auto [command, options] = add_verb<StatusOptions>(
      sweep, chosen, "status", "Show the progress of the tasks of a plan", kStatusFooter, status);
  command->add_option("folder", options->folder, "folder of the plan")->type_name("DIR")->required();
  auto* failed = command->add_flag("--failed", options->failed, "print the numbers of tasks that failed: 3,17-19");
  auto* left = command->add_flag("--left", options->left,
                                 "print the numbers of tasks that failed, were stopped, or were not begun");
  left->excludes(failed);
  command->add_flag("--json", options->json, "print JSON")->excludes(failed)->excludes(left);
}

}  // namespace

void add_sweep(CLI::App& program, Action& chosen) {
  CLI::App* sweep = program.add_subcommand("sweep", "Share the runs of a sweep among processes and machines");
  sweep->require_subcommand(1);
  sweep->footer(kSweepFooter);
  add_plan(*sweep, chosen);
  add_work(*sweep, chosen);
  add_status(*sweep, chosen);
}

}  // namespace rnnlab::app
