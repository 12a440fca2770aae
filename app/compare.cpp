// rnnlab compare: sets the epoch times of finished runs against each other, and refuses where that would mislead.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <memory>

#include "output.h"
#include "results/comparison_csv.h"
#include "results/comparison_json.h"
#include "results/comparison_text.h"
#include "results/held_equal.h"
#include "run_folders.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kCompareFooter = R"(
Runs that differ in their seed alone are pooled. Intervals are over the processes that trained them: from three a side,
and a verdict from five. The baseline is the sweep's first run. docs/timing.md says what the numbers mean.

Examples:
  rnnlab compare runs/mnist_rows
  rnnlab compare --baseline 'cpu naive' --csv runs/mnist_rows/* > times.csv)";

struct CompareVerbOptions {
  std::vector<std::string> folders;
  std::string baseline;
  bool force = false;
  bool json = false;
  bool csv = false;
  bool fair = false;
};

void print_with_conditions(const Comparison& comparison, const HeldEqual& held, const CompareVerbOptions& options) {
  if (options.json) return print_data(comparison_json(comparison, held));
  print_text(comparison_text(comparison) + "\n" + held_equal_text(held));
}

void print(const Comparison& comparison, const CompareVerbOptions& options) {
  if (options.json) return print_data(comparison_json(comparison));
  if (options.csv) return print_data(comparison_csv(comparison));
  print_text(comparison_text(comparison));
}

ExitCode compare_runs(const CompareVerbOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::string& folder : named_runs(options.folders)) runs.push_back(load_run(folder));
  const auto on_difference = options.force ? OnDifference::kForce : OnDifference::kRefuse;
  const Comparison comparison = compare(runs, {.baseline = options.baseline, .on_difference = on_difference});
  options.fair ? print_with_conditions(comparison, held_equal(runs), options) : print(comparison, options);
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
  auto* csv = command->add_flag("--csv", options->csv, "print CSV")->excludes(json);
  command->add_flag("--fair", options->fair, "print what was held equal, too")->excludes(csv);
  command->footer(kCompareFooter);
  command->callback([&chosen, options] { chosen = [options](const CommandLine&) { return compare_runs(*options); }; });
}

}  // namespace rnnlab::app
