#include "experiment/cases.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/random.h"
#include "config/sweep.h"
#include "experiment/experiment.h"
#include "results/run_folder.h"
#include "results/work_settings.h"

namespace rnnlab {

std::vector<ExperimentCase> read_cases(const config::Document& whole, config::Findings& findings) {
  const config::Repeats repeats = config::repeats_of(whole, findings);
  const config::Document document = config::without_repeats(whole);
  const auto folder = std::filesystem::path(document.source()).parent_path();
  std::vector<ExperimentCase> cases;
  const config::Sweep sweep(document, findings);
  for (size_t i = 0; i < sweep.num_cases(); ++i) {
    const config::Document one = sweep.document(i);
    Experiment experiment = config::read(one, Experiment::schema(), findings);
    cases.push_back({.label = sweep.label(i),
                     .experiment = with_paths_beside(std::move(experiment), folder),
                     .places = config::places_of_keys(one),
                     .repeats = repeats});
  }
  return cases;
}

std::string name_of(const ExperimentCase& one) { return one.label.empty() ? one.experiment.name : one.label; }

std::vector<SweepEntry> entries_of(const std::vector<ExperimentCase>& cases) {
  std::vector<SweepEntry> entries;
  for (const ExperimentCase& one : cases)
    entries.push_back({.label = name_of(one),
                       .experiment = config::print(one.experiment, Experiment::schema()),
                       .folder = std::nullopt,
                       .case_number = std::ssize(entries) + 1});
  return entries;
}

namespace {

constexpr int64_t kMostPlannedRuns = 100'000;

int64_t num_runs_of(const std::vector<ExperimentCase>& cases) {
  int64_t count = 0;
  for (const ExperimentCase& one : cases) count += one.repeats.at_most;
  return count;
}

void refuse_what_cannot_be_planned(const std::vector<ExperimentCase>& cases) {
  for (const ExperimentCase& one : cases)
    if (one.repeats.until)
      throw_error(
          ExitCode::kUsage,
          "{}: repeats.until needs results, but a plan is fixed before there are any; use a number, such as repeats=5",
          name_of(one));
  if (const int64_t count = num_runs_of(cases); count > kMostPlannedRuns)
    throw_error(ExitCode::kUsage, "the files ask for {} runs, expected at most {}; plan several sweeps", count,
                kMostPlannedRuns);
}

}  // namespace

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

SweepPlan plan_sweep(const std::vector<ExperimentCase>& cases, Spread spread, std::vector<std::string> command_line) {
  refuse_what_cannot_be_planned(cases);
  SweepPlan plan{.measurement = random_name(),
                 .spread = spread,
                 .command_line = std::move(command_line),
                 .cases = {},
                 .tasks = {}};
  std::vector<PlanSide> sides;
  for (const ExperimentCase& one : cases) {
    plan.cases.push_back({name_of(one), config::print(one.experiment, Experiment::schema())});
    sides.push_back({name_of(one), comparison_of(one.experiment), one.repeats.at_most});
  }
  plan.tasks = make_tasks(sides, spread, plan.measurement);
  return plan;
}

}  // namespace rnnlab
