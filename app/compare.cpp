// rnnlab compare: sets the epoch times of finished runs against each other, and refuses where that would mislead.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "output.h"
#include "results/comparison_csv.h"
#include "results/comparison_json.h"
#include "results/comparison_text.h"
#include "results/run_folder.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kCompareFooter = R"(
Runs that differ in their seed alone are pooled. docs/timing.md says what the numbers mean.

Examples:
  rnnlab compare runs/mnist_rows
  rnnlab compare --baseline 'cpu naive' --csv runs/mnist_rows/* > times.csv)";

struct CompareVerbOptions {
  std::vector<std::string> folders;
  std::string baseline;
  bool force = false;
  bool json = false;
  bool csv = false;
};

// A folder that is named twice, as by overlapping patterns, is one run.
std::vector<std::string> without_repetitions(const std::vector<std::string>& folders) {
  std::set<std::filesystem::path> seen;
  std::vector<std::string> unique;
  for (const std::string& folder : folders)
    if (seen.insert(std::filesystem::weakly_canonical(folder)).second) unique.push_back(folder);
  return unique;
}

std::vector<std::filesystem::path> folders_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code unreadable;  // load_run says what is wrong with it
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable))
    if (std::filesystem::exists(entry.path() / kEpochsCsvFile)) found.push_back(entry.path());
  std::ranges::sort(found);  // by the time of the start
  return found;
}

// A folder of runs, such as runs/mnist_rows, stands for those of its runs that have ended.
std::vector<std::string> expanded(const std::string& folder) {
  const auto runs = folders_below(folder);
  std::vector<std::string> ended;
  for (const auto& run : runs) {
    if (std::filesystem::exists(run / kSummaryFile))
      ended.push_back(run.string());
    else
      print_notice(fmt::format("rnnlab: {} left out: it has not ended yet, or was killed\n", run.string()));
  }
  return ended.empty() ? std::vector<std::string>{folder} : ended;
}

std::vector<std::string> all_expanded(const std::vector<std::string>& folders) {
  std::vector<std::string> all;
  for (const std::string& folder : folders)
    for (std::string& run : expanded(folder)) all.push_back(std::move(run));
  return all;
}

std::string formatted(const Comparison& comparison, const CompareVerbOptions& options) {
  if (options.json) return comparison_json(comparison);
  return options.csv ? comparison_csv(comparison) : comparison_text(comparison);
}

ExitCode compare_runs(const CompareVerbOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::string& folder : without_repetitions(all_expanded(options.folders))) runs.push_back(load_run(folder));
  const auto on_difference = options.force ? OnDifference::kForce : OnDifference::kRefuse;
  const Comparison comparison = compare(runs, {.baseline = options.baseline, .on_difference = on_difference});
  print_output(formatted(comparison, options));
  return ExitCode::kDone;
}

}  // namespace

void add_compare(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("compare", "Compare the epoch times of finished runs");
  auto options = std::make_shared<CompareVerbOptions>();
  command->add_option("folders", options->folders, "run folders, or folders full of them")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--baseline", options->baseline,
                   "what the others are measured against: a label of the table or a folder")
      ->type_name("LABEL|RUN");
  command->add_flag("--force", options->force, "compare what should not be compared, and say so in the output");
  auto* json = command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--csv", options->csv, "print CSV")->excludes(json);
  command->footer(kCompareFooter);
  command->callback([&chosen, options] { chosen = [options](const CommandLine&) { return compare_runs(*options); }; });
}

}  // namespace rnnlab::app
