#include "inference/evaluation_report.h"

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

double samples_per_second(const ModelEvaluation& evaluation) {
  return static_cast<double>(evaluation.num_samples) / evaluation.seconds;
}

std::string precision_of(const TrainedModel& trained) {
  return effective_precision(trained.experiment.precision, trained.device);
}

}  // namespace

std::string evaluation_text(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation) {
  const Experiment& e = trained.experiment;
  std::string text = fmt::format("model     {} from {}\nlayer     {} on {}, precision {}\ndata      {}\n", e.name,
                                 trained.checkpoint.string(), implementation_name(e), e.device, precision_of(trained),
                                 data.description);
  for (const auto& [name, value] : named_metrics(evaluation.metrics))
    if (value) text += fmt::format("{:<18}  {:.6g}\n", name, *value);
  return text + fmt::format("time      {}, {:.4g} samples/s\n", format_seconds(evaluation.seconds),
                            samples_per_second(evaluation));
}

std::string evaluation_json(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation) {
  const Experiment& e = trained.experiment;
  Json json = {{"schema_version", 1},
               {"name", e.name},
               {"checkpoint", trained.checkpoint.string()},
               {"device", e.device},
               {"layer", implementation_name(e)},
               {"precision", precision_of(trained)},
               {"part", config::name_of(trained.part)},
               {"data", data.description},
               {"samples", evaluation.num_samples},
               {"seconds", evaluation.seconds},
               {"samples_per_second", samples_per_second(evaluation)},
               {"metrics", Json::object()}};
  for (const auto& [name, value] : named_metrics(evaluation.metrics))
    if (value) json["metrics"][name] = to_json(*value);
  return json_text(json);
}

}  // namespace rnnlab
