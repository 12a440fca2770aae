// SPDX-License-Identifier: Apache-2.0
// rnnlab evaluate: computes loss and metrics of a trained model.
#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "arguments.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "output.h"
#include "results/run_folder.h"
#include "results/run_record.h"
#include "runs/experiment.h"
#include "runs/use/detailed_metrics.h"
#include "runs/use/evaluate_model.h"
#include "runs/use/predict.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kEvaluateFooter = R"(
RUN is a run's folder, of which the best checkpoint is used, or a checkpoint. If there is no such path, RUN is the
name of an experiment, and its newest run in the folder runs is used. A folder of runs means its newest
run. These keys may change:
{}

Examples:
  rnnlab evaluate mnist_rows
  rnnlab evaluate runs/mnist_rows/2026-11-21T02-59-51Z-cuda0-cudnn
  rnnlab evaluate runs/weather/2026-11-21T02-59-51Z-cpu-fused data.path=december.csv layer=naive --json)";

std::string evaluate_footer() {
  constexpr size_t kWidth = 118;
  const auto keys = Experiment::schema().spec().changeable_keys(config::Change::kOnUse);
  return fmt::format(kEvaluateFooter, fmt::join(wrap(join(keys, ", "), kWidth), "\n"));
}

struct EvaluateOptions {
  ModelArguments use;
  int64_t num_passes = 1;
  bool json = false;
  bool with_machine = false;
};

// A second pass over the data, with all outputs in memory, is left out if there are no details or too many outputs.
DetailedMetrics details_of(const TrainedModel& trained, const Samples& samples) {
  constexpr int64_t kMostOutputs = 100'000'000;
  const DataShape& shape = trained.data.shape;
  if (!has_detailed_metrics(shape)) return {};
  if (shape.num_outputs <= kMostOutputs / samples.size()) return detailed_metrics(predict(trained, samples));
  print_notes({fmt::format("no metrics of each class or target, because {} of {} outputs are too many",
                           counted(samples.size(), "sample"), format_count(shape.num_outputs))});
  return {};
}

// A checkpoint may be outside of a run, and a run may not have ended or may be damaged.
std::string advice_text(const TrainedModel& trained) {
  const auto run = run_of(trained);
  if (!run || !path_exists(*run / kSummaryFile)) return "";
  try {
    RunRecord record = load_run(*run);
    record.folder = shared_run_name(*run, record.summary.name);  // results are shared, without the folders of a user
    const auto advice = train_longer_advice(record);
    return advice ? fmt::format("advice    {}\n", *advice) : "";
  } catch (const UserError&) {
    return "";
  }
}

ExitCode evaluate_one(const EvaluateOptions& options, const CommandLine& command_line) {
  const TrainedModel trained = load_model(model_request("evaluate", options.use));
  const InferenceData data = load_data(trained, Targets::kRequired);
  print_notes(data.notes);
  const ModelEvaluation evaluation = evaluate_model(trained, data.samples, options.num_passes);
  const PartQuality quality = quality_on_part(trained, data, evaluation.metrics);
  print_notes(quality.notes);
  const MachineFacts machine = options.with_machine ? machine_facts(trained, command_line) : MachineFacts();
  const DetailedMetrics details = details_of(trained, data.samples);
  options.json ? print_data(evaluation_json(trained, data, evaluation, quality, machine, details))
               : print_text(evaluation_text(trained, data, evaluation, quality, machine) + advice_text(trained) +
                            detailed_metrics_text(details));
  return ExitCode::kDone;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& chosen) {
  const auto [command, options] = add_verb<EvaluateOptions>(
      program, chosen, "evaluate", "Compute loss and metrics of a trained model, also for each class",
      evaluate_footer(), evaluate_one);
  add_use_arguments(*command, options->use, TakesData::kYes);
  add_passes_option(*command, options->num_passes);
  command->add_flag("--json", options->json, "print JSON");
  add_machine_option(*command, options->with_machine);
}

}  // namespace rnnlab::app
