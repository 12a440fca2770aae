// SPDX-License-Identifier: Apache-2.0
// Computes a trained model's loss and metrics on data in the same way as a run's validation, so that equal data, layer
// and device give equal digits, and writes them as text for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runs/use/detailed_metrics.h"
#include "runs/use/part_quality.h"
#include "runs/use/trained_model.h"

namespace rnnlab {

struct ModelEvaluation {
  MetricValues metrics;                               // by their names in the list (results/metrics.h)
  std::map<std::string, std::string> undefined = {};  // why a metric that is asked for has no value
  PassTimes times;
};

// Evaluates the model `num_passes` times; all passes give equal metrics. `samples` must not be empty. For a metric that
// needs the training part, that part is read again; if it cannot be read, the metric has no value.
ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples, int64_t num_passes = 1);

// Returns one line on the model, one on the data, one for each metric and baseline, one that says who wins, one on the
// time, and one for each entry of `machine`. Only the entries of `machine` contain the folders above the run and the
// data.
std::string evaluation_text(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const PartQuality& quality = {}, const MachineFacts& machine = {});

// Returns the same facts as JSON with all digits. Metrics have their names in epochs.csv, without "valid_"; the entries
// of `machine` are below "machine". The baselines and `details` follow the metrics.
std::string evaluation_json(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const PartQuality& quality = {}, const MachineFacts& machine = {},
                            const DetailedMetrics& details = {});

// Returns the model, layer and device of the passes, the data, and the times, for the JSON of a result.
nlohmann::ordered_json pass_json(const TrainedModel& trained, const InferenceData& data, const PassTimes& times);

}  // namespace rnnlab
