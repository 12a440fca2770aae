// SPDX-License-Identifier: Apache-2.0
#include "runs/plan/plan.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/folder.h"
#include "base/random.h"
#include "base/system/gpu_info.h"
#include "base/system/json_fields.h"
#include "base/system/machine.h"
#include "base/text.h"
#include "results/environment.h"
#include "results/measuring_order.h"
#include "results/run_folder.h"

namespace rnnlab {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxPlanBytes = int64_t{1} << 28;

// Returns the sides of each comparison, by their numbers from 0, in the order of the cases.
std::vector<std::vector<size_t>> comparisons_of(const std::vector<PlanSide>& sides) {
  std::vector<std::vector<size_t>> comparisons;
  std::map<std::string, size_t> index_of;
  for (size_t i = 0; i < sides.size(); ++i) {
    const auto [found, is_new] = index_of.emplace(sides[i].comparison, comparisons.size());
    if (is_new) comparisons.emplace_back();
    comparisons[found->second].push_back(i);
  }
  return comparisons;
}

int64_t most_rounds(const std::vector<PlanSide>& sides) {
  int64_t most = 0;
  for (const PlanSide& side : sides) most = std::max(most, side.num_rounds);
  return most;
}

// Returns the runs of one round of a comparison, in the drawn order.
std::vector<PlannedRun> runs_of_round(const std::vector<PlanSide>& sides, const std::vector<size_t>& comparison,
                                      int64_t round, const std::string& measurement) {
  std::vector<size_t> takes_part;
  for (const size_t side : comparison)
    if (round <= sides[side].num_rounds) takes_part.push_back(side);
  std::vector<PlannedRun> runs;
  for (const size_t i : order_of_round(seed_of_measurement(measurement), round, takes_part.size()))
    runs.push_back({.folder = "",
                    .case_number = static_cast<int64_t>(takes_part[i]) + 1,
                    .round = round,
                    .position = std::ssize(runs) + 1});
  return runs;
}

// Sides of a round that run on different machines are not a pair, so their runs have no round and no drawn order.
void add_single_run_tasks(std::vector<PlannedTask>& tasks, std::vector<PlannedRun> runs) {
  std::ranges::sort(runs, {}, &PlannedRun::case_number);
  for (PlannedRun& run : runs) {
    run.round = run.position = 0;
    tasks.push_back({{std::move(run)}});
  }
}

void append_runs(PlannedTask& task, const std::vector<PlannedRun>& runs) {
  task.runs.insert(task.runs.end(), runs.begin(), runs.end());
}

void name_folders(std::vector<PlannedTask>& tasks, const std::vector<PlanSide>& sides) {
  for (size_t task = 0; task < tasks.size(); ++task)
    for (size_t i = 0; i < tasks[task].runs.size(); ++i) {
      PlannedRun& run = tasks[task].runs[i];
      const std::string& label = sides.at(static_cast<size_t>(run.case_number - 1)).label;
      run.folder = folder_of_run(static_cast<int64_t>(task), i, tasks[task].runs.size(), label);
    }
}

void require_empty(const fs::path& folder) {
  if (path_exists(folder / kPlanFile))
    throw_error(ExitCode::kUsage,
                "{0}: already has a plan, and a plan cannot be changed; see `rnnlab sweep status {1}`, or choose a "
                "different folder",
                folder.string(), shell_quoted(folder.string()));
  if (path_exists(folder) && !is_folder(folder))
    throw_error(ExitCode::kUsage, "{}: is a file, expected a folder or an unused name", folder.string());
  std::error_code unreadable;
  if (path_exists(folder) && !fs::is_empty(folder, unreadable))
    throw_error(ExitCode::kUsage, "{}: contains files, expected an empty folder for the sweep; choose a different one",
                folder.string());
}

// The file may be forged, so the name of a run's folder must not lead out of the plan's folder.
bool is_valid_plan(const SweepPlan& plan) {
  for (const PlannedTask& task : plan.tasks)
    for (const PlannedRun& run : task.runs) {
      const fs::path name = run.folder;
      const bool is_plain = name.has_filename() && name == name.filename() && name != "." && name != "..";
      if (!is_plain || run.case_number < 1 || run.case_number > std::ssize(plan.cases)) return false;
    }
  return true;
}

[[noreturn]] void throw_plan_changed(const fs::path& file) {
  throw_error(ExitCode::kData,
              "{}: was changed after planning, but a plan must not change; restore it, or make a new plan",
              file.string());
}

}  // namespace

int64_t SweepPlan::num_runs() const {
  int64_t count = 0;
  for (const PlannedTask& task : tasks) count += std::ssize(task.runs);
  return count;
}

std::vector<PlannedTask> make_tasks(const std::vector<PlanSide>& sides, Spread spread, const std::string& measurement) {
  const std::vector<std::vector<size_t>> comparisons = comparisons_of(sides);
  std::vector<PlannedTask> tasks(spread == Spread::kComparisons ? comparisons.size() : 0);
  for (int64_t round = 1; round <= most_rounds(sides); ++round)
    for (size_t i = 0; i < comparisons.size(); ++i) {
      const std::vector<PlannedRun> runs = runs_of_round(sides, comparisons[i], round, measurement);
      if (runs.empty()) continue;
      if (spread == Spread::kRuns) add_single_run_tasks(tasks, runs);
      if (spread == Spread::kRounds) tasks.push_back({runs});
      if (spread == Spread::kComparisons) append_runs(tasks[i], runs);
    }
  name_folders(tasks, sides);
  return tasks;
}

std::string name_of_task(int64_t task) { return fmt::format("{:04}", task); }

std::string folder_of_run(int64_t task, size_t position, size_t num_runs, const std::string& label) {
  constexpr size_t kMostBytes = 100;
  const std::string number =
      num_runs == 1 ? name_of_task(task) : fmt::format("{}.{}", name_of_task(task), position + 1);
  std::string name = label.substr(0, kMostBytes);
  for (char& c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("=_.,+-").find(c) != std::string_view::npos;
    if (!is_plain) c = '_';
  }
  return number + "-" + name;
}

std::string write_plan(const fs::path& folder, const SweepPlan& plan) {
  require_empty(folder);
  make_folders(folder / kClaimsFolder);
  const std::string text = sealed_text(to_json(plan));
  const fs::path file = folder / kPlanFile;
  write_file_atomically(file, text);
  [[maybe_unused]] const int ignored = ::chmod(file.c_str(), 0444);  // a reminder; only the hash is checked
  return read_plan(folder).hash;
}

SweepPlan read_plan(const fs::path& folder) {
  const fs::path file = folder / kPlanFile;
  if (!path_exists(file))
    throw_error(ExitCode::kUsage, "{}: has no {}, expected a folder that `rnnlab sweep plan FILE... --out DIR` made",
                folder.string(), kPlanFile);
  const std::string text = read_file(file, kMaxPlanBytes);
  if (!has_fitting_seal(text)) throw_plan_changed(file);
  Json json = parse_json(text, file.string());
  std::string hash = json.at(kSealKey).get<std::string>();
  json.erase(kSealKey);
  auto plan = record_from<SweepPlan>(json, file.string());
  plan.hash = std::move(hash);
  if (!is_valid_plan(plan)) throw_plan_changed(file);
  return plan;
}

namespace {

struct Hardware {
  std::string cpu, gpus;
  std::string gpu;  // one of them
};

// The first call takes a tenth of a second.
const Hardware& this_hardware() {
  static const Hardware found = [] {
    const GpuSurvey survey = survey_gpus();
    const std::string gpus = gpu_model(survey);
    return Hardware{
        .cpu = cpu_info().model, .gpus = gpus.empty() ? "no NVIDIA GPU" : gpus, .gpu = model_of_one_gpu(survey)};
  }();
  return found;
}

bool has(const Hardware& hardware, const std::string& name) {
  return name == hardware.cpu || name == hardware.gpus || name == hardware.gpu;
}

}  // namespace

std::vector<std::string> hardware_here() {
  const Hardware& here = this_hardware();
  if (here.cpu.empty())
    throw_error(ExitCode::kDevice,
                "--pin: the model of this machine's CPU is unknown; name a GPU, such as --pin='NVIDIA H200'");
  return {here.cpu, here.gpus};
}

bool has_hardware(const SweepPlan& plan) {
  return std::ranges::all_of(plan.hardware, [](const std::string& name) { return has(this_hardware(), name); });
}

void require_hardware(const SweepPlan& plan) {
  if (has_hardware(plan)) return;
  const Hardware& here = this_hardware();
  for (const std::string& name : plan.hardware)
    if (!has(here, name))
      throw_error(ExitCode::kDevice,
                  "the plan is for machines with {} (--pin), but this machine has {} and {}: start the worker on such "
                  "a machine, or make a new plan without --pin",
                  in_quotes(name), in_quotes(here.cpu), in_quotes(here.gpus));
}

std::string launch_commands(const std::string& folder, int64_t num_tasks) {
  const std::string quoted = shell_quoted(folder);
  // `--wrap` takes the whole command as one word, so its folder is quoted for a second shell.
  const std::string command = fmt::format("srun --ntasks=1 rnnlab train --wait --task $SLURM_ARRAY_TASK_ID {}", quoted);
  const int64_t last = num_tasks - 1;
  return fmt::format(
             "  rnnlab sweep work {}          # on any machine that can access the folder, any number of times\n"
             "  rnnlab sweep work {} --gpus   # one worker for each GPU of this machine\n",
             quoted, quoted) +
         fmt::format("  sbatch --array=0-{} --requeue --open-mode=append --signal=TERM@120 --wrap {}\n", last,
                     shell_quoted(command)) +
         fmt::format("  seq 0 {} | parallel -j 1 rnnlab train --task {{}} {}\n", last, quoted) +
         fmt::format("  seq 0 {} | xargs -P 1 -I {{}} rnnlab train --task {{}} {}\n", last, quoted);
}

}  // namespace rnnlab
