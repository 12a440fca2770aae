#include "inference/evaluation_report.h"

#include <algorithm>

#include "base/numbers.h"
#include "results/json_fields.h"

namespace rnnlab {
namespace {

struct NamedMetric {
  const char* name;
  std::optional<double> value;
};

std::vector<NamedMetric> named_metrics(const Metrics& metrics) {
  return {{"loss", metrics.loss},
          {"accuracy", metrics.accuracy},
          {"perplexity", metrics.perplexity},
          {"bits_per_character", metrics.bits_per_token},
          {"mae", metrics.mean_absolute_error},
          {"rmse", metrics.root_mean_squared_error}};
}

std::string precision_of(const TrainedModel& trained) {
  return effective_precision(trained.experiment.precision, trained.device);
}

// What ran, on what, and how long it took.
Json pass_json(const TrainedModel& trained, const InferenceData& data, const PassTimes& times) {
  const Experiment& e = trained.experiment;
  return {{"schema_version", 2},
          {"name", e.name},
          {"checkpoint", trained.checkpoint.string()},
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
}

}  // namespace

std::string evaluation_text(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation) {
  const Experiment& e = trained.experiment;
  std::string text = fmt::format("model     {} from {}\nlayer     {} on {}, precision {}\ndata      {}\n", e.name,
                                 trained.checkpoint.string(), implementation_name(e), e.device, precision_of(trained),
                                 data.description);
  for (const auto& [name, value] : named_metrics(evaluation.metrics))
    if (value) text += fmt::format("{:<18}  {:.6g}\n", name, *value);
  return text + fmt::format("time      {}\n", pass_times_text(evaluation.times));
}

std::string evaluation_json(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation) {
  Json json = pass_json(trained, data, evaluation.times);
  json["metrics"] = Json::object();
  for (const auto& [name, value] : named_metrics(evaluation.metrics))
    if (value) json["metrics"][name] = to_json(*value);
  return json_text(json);
}

std::string prediction_text(const Predictions& predictions, const std::string& out) {
  return fmt::format("{}: {} in {}\n", out, counted(predictions.times.num_samples, "sample"),
                     pass_times_text(predictions.times));
}

std::string prediction_json(const TrainedModel& trained, const InferenceData& data, const Predictions& predictions,
                            const std::string& out) {
  Json json = pass_json(trained, data, predictions.times);
  json["out"] = out;
  return json_text(json);
}

}  // namespace rnnlab
