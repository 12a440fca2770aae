// SPDX-License-Identifier: Apache-2.0
#include "runs/use/evaluate_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/run_folder.h"

namespace rnnlab {

namespace {

// Returns nothing if no metric needs them, or if the training part cannot be read.
std::vector<double> naive_errors_for(const TrainedModel& trained, const std::vector<const MetricInfo*>& metrics) {
  const auto needs_them = [](const MetricInfo* metric) { return metric->needs == MetricNeeds::kTrainingPart; };
  if (std::ranges::none_of(metrics, needs_them)) return {};
  try {
    return load_for_inference(trained.data_settings, trained.data, DataPart::kTrain, Targets::kRequired).naive_errors;
  } catch (const UserError&) {  // the metric has a reason then
    return {};
  }
}

void add_results(const MetricResults& results, ModelEvaluation& evaluation) {
  for (const auto& [name, result] : results) {
    if (result.value) evaluation.metrics[name] = *result.value;
    if (!result.value) evaluation.undefined[name] = result.reason;
  }
}

}  // namespace

ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples, int64_t num_passes) {
  const TrainerOptions options = trained.options();
  require_targets_of(options.settings, samples, trained.data);
  auto batches = make_valid_batches(samples, options);
  RNNLAB_INVARIANT(batches, "there are no samples to evaluate");
  const Objective objective = trained.objective();
  const std::vector<const MetricInfo*> asked = asked_metrics(options.settings);
  ScoreMetrics scores(asked, Loss(options.settings, trained.data, at::kCPU), trained.data, samples,
                      naive_errors_for(trained, asked));
  BatchLoop loop(*batches, 1, evaluation_work(*trained.model, objective, options.precision, &scores), Replay::kNever);
  for (const int64_t batch : untimed_batches(*batches)) {
    batches->start_epoch(0, batch);
    loop.next();
  }
  Totals totals;
  const PassTimes times = time_passes(options.device, samples.size(), num_passes, [&] {
    scores.clear();
    totals = evaluate(*trained.model, *batches, loop, options.device);
  });
  ModelEvaluation evaluation{.metrics = objective.metrics(totals), .undefined = {}, .times = times};
  add_results(scores.results(batches->batch_size()), evaluation);
  return evaluation;
}

namespace {

// Returns the metrics in the order of the list.
std::vector<std::pair<std::string, double>> in_order(const MetricValues& metrics) {
  std::vector<std::pair<std::string, double>> ordered;
  for (const MetricInfo& metric : metric_list())
    if (const auto found = metrics.find(std::string(metric.name)); found != metrics.end()) ordered.emplace_back(*found);
  return ordered;
}

std::string precision_of(const TrainedModel& trained) {
  return effective_precision(trained.experiment.precision, trained.device);
}

// Returns "flowers/2026-11-21T13-53-25Z-cpu-fused/checkpoints/step-000171". For a checkpoint outside of a run it
// returns the name of the checkpoint.
std::string shared_name(const TrainedModel& trained) {
  const std::filesystem::path checkpoint = normalized_path(trained.checkpoint);
  const std::filesystem::path folder = checkpoint.parent_path();
  std::string name = last_name(checkpoint.string());
  if (folder.filename() != kCheckpointsFolder) return name;
  return fmt::format("{}/{}/{}", shared_run_name(folder.parent_path(), trained.experiment.name), kCheckpointsFolder,
                     name);
}

}  // namespace

Json pass_json(const TrainedModel& trained, const InferenceData& data, const PassTimes& times) {
  const Experiment& e = trained.experiment;
  Json json = {{"schema_version", kFileVersion},
               {"name", e.name},
               {"checkpoint", shared_name(trained)},
               {"device", e.device},
               {"layer", implementation_name(e)},
               {"precision", precision_of(trained)},
               {"part", config::name_of(trained.part)},
               {"data", data.description},
               {"samples", times.num_samples},
               {"passes", times.seconds.size()},
               {"seconds", times.median_seconds()},
               {"low_seconds", std::ranges::min(times.seconds)},
               {"high_seconds", std::ranges::max(times.seconds)},
               {"samples_per_second", times.samples_per_second()},
               {"microseconds_per_sample", to_json(times.microseconds_per_sample())}};
  if (trained.data.shape.target_per_step) json["steps"] = data.samples.num_steps();
  return json;
}

std::string evaluation_text(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const PartQuality& quality, const MachineFacts& machine) {
  const Experiment& e = trained.experiment;
  std::string text =
      fmt::format("model     {} from {}\nlayer     {} on {}, precision {}\ndata      {}\n", e.name,
                  shared_name(trained), implementation_name(e), e.device, precision_of(trained), data.description);
  for (const auto& [name, value] : in_order(evaluation.metrics)) text += fmt::format("{:<18}  {:.6g}\n", name, value);
  for (const auto& [name, reason] : evaluation.undefined) text += fmt::format("{:<18}  no value: {}\n", name, reason);
  text += quality_text(quality);
  text += fmt::format("time      {}\n", pass_times_text(evaluation.times));
  for (const auto& [name, fact] : machine) text += fmt::format("{:<14}{}\n", name, fact);
  return text;
}

std::string evaluation_json(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const PartQuality& quality, const MachineFacts& machine, const DetailedMetrics& details) {
  Json json = pass_json(trained, data, evaluation.times);
  json["metrics"] = Json::object();
  for (const auto& [name, value] : in_order(evaluation.metrics)) json["metrics"][name] = to_json(value);
  for (const auto& [name, reason] : evaluation.undefined) {
    json["metrics"][name] = nullptr;
    json["undefined_metrics"][name] = reason;
  }
  add_quality(quality, json);
  add_detailed_metrics(details, json);
  for (const auto& [name, fact] : machine) json["machine"][name] = fact;
  return json_text(json);
}

}  // namespace rnnlab
