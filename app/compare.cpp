// SPDX-License-Identifier: Apache-2.0
// rnnlab compare: compares the epoch times of finished runs, and refuses comparisons that would mislead.
#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "arguments.h"
#include "output.h"
#include "results/comparison_output.h"
#include "results/device_scaling.h"
#include "results/own_cells.h"
#include "results/run_folder.h"
#include "run_names.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kCompareFooter = R"(
Runs that differ only in their seed are pooled. Intervals are over the processes that trained them. An interval needs
three processes on each side, and a verdict needs five. The baseline is the sweep's first case. Runs of other work, such
as lstm and gru, have losses and metrics to compare, but no ratio of times. docs/timing.md says what the numbers mean.

Runs of the folds of a back-test are of different data, so their times are not compared. A table above the times has
their metrics over the folds, as `rnnlab rank` does.

Runs that differ only in devices get a speed-up and an efficiency. --scaling compares the work of each device in runs
with equal batches per device, relative to the fewest devices (docs/several-gpus.md).

Examples:
  rnnlab compare mnist_rows                   (runs/mnist_rows, if there is no such path here)
  rnnlab compare --verbose mnist_rows         (also what ran, how far losses agree, and the best epochs)
  rnnlab compare --matrices runs/gru_speed
  rnnlab compare --scaling runs/one_device runs/two_devices
  rnnlab compare --baseline 'cpu naive' --csv runs/mnist_rows/* > times.csv)";

struct CompareVerbOptions {
  std::vector<std::string> folders;
  std::string baseline;
  bool force = false;
  bool json = false;
  bool csv = false;
  bool fair = false;
  bool matrices = false;
  bool scaling = false;
  bool verbose = false;
  std::optional<double> price_per_hour;
};

ComparisonAdditions additions_of(const std::vector<RunRecord>& runs, const CompareVerbOptions& options) {
  ComparisonAdditions additions;
  if (options.fair) additions.held_equal = held_equal(runs);
  if (options.matrices) additions.epoch_matrices = epoch_matrices(runs);
  additions.over_folds = rank_folds(runs);
  return additions;
}

std::string csv_of(const Comparison& comparison, const ComparisonAdditions& additions) {
  if (const auto& matrices = additions.epoch_matrices) return epoch_matrices_csv(*matrices, comparison);
  return comparison_csv(comparison);
}

void print_scaling(const DeviceScaling& scaling, const CompareVerbOptions& options) {
  if (options.json)
    print_data(device_scaling_json(scaling));
  else if (options.csv)
    print_data(device_scaling_csv(scaling));
  else
    print_text(device_scaling_text(scaling, table_width()));
}

ExitCode compare_runs(const CompareVerbOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::string& folder : named_runs(options.folders)) runs.push_back(load_run(folder));
  name_own_cells(runs);
  const auto on_difference = options.force ? OnDifference::kForce : OnDifference::kRefuse;
  if (options.scaling) {
    print_scaling(device_scaling(runs, on_difference), options);
    return ExitCode::kDone;
  }
  const Comparison comparison = compare(runs, {.baseline = run_or_label(options.baseline, kRunsFolder),
                                               .on_difference = on_difference,
                                               .price_per_hour = options.price_per_hour});
  const ComparisonAdditions additions = additions_of(runs, options);
  if (options.json)
    print_data(comparison_json(comparison, additions));
  else if (options.csv)
    print_data(csv_of(comparison, additions));
  else
    print_text(comparison_text(comparison, additions, table_width(), options.verbose ? Detail::kAll : Detail::kAnswer));
  return ExitCode::kDone;
}

}  // namespace

void add_compare(CLI::App& program, Action& chosen) {
  const auto [command, options] = add_verb<CompareVerbOptions>(
      program, chosen, "compare", "Compare the epoch times of finished runs", kCompareFooter, compare_runs);
  command->add_option("folders", options->folders, "run folders, folders full of them, or names of experiments")
      ->required()
      ->type_name("RUN");
  auto* baseline = command
                       ->add_option("--baseline", options->baseline,
                                    "the reference of the comparison: a label of the table or a folder")
                       ->type_name("LABEL|RUN");
  command->add_flag("--force", options->force,
                    "compare although the runs are not comparable, with a note in the output");
  auto* json = command->add_flag("--json", options->json, "print JSON");
  auto* csv = command->add_flag("--csv", options->csv, "print CSV")->excludes(json);
  auto* fair = command->add_flag("--fair", options->fair, "also print which conditions were equal")->excludes(csv);
  auto* matrices =
      command->add_flag("--matrices", options->matrices,
                        "also print training seconds and train loss by epoch and run; with --csv instead of the table");
  auto* verbose = command
                      ->add_flag("-v,--verbose", options->verbose,
                                 "also print what took how long, what ran, losses, seeds and costs")
                      ->excludes(json)
                      ->excludes(csv);
  auto* scaling = command
                      ->add_flag("--scaling", options->scaling,
                                 "compare the work of each device, in runs with equal batches per device")
                      ->excludes(baseline)
                      ->excludes(fair)
                      ->excludes(matrices)
                      ->excludes(verbose);
  add_price_option(*command, options->price_per_hour)->excludes(scaling);
}

}  // namespace rnnlab::app
