// SPDX-License-Identifier: Apache-2.0
// How good a trained model is on one part of its data, beside predictions of the same part that need no model.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "results/quality.h"
#include "runs/use/trained_model.h"

namespace rnnlab {

// Metrics have the names of validation, whatever the part is: "valid_rmse".
struct PartQuality {
  DataPart part = DataPart::kValid;
  MetricValues model;
  std::vector<Baseline> baselines;  // train/loop/baseline.h, on this part
  std::vector<std::string> notes;   // why a baseline is missing
};

// `data` are those that gave the metrics, by their names in the list, and are loaded with their targets. Frequencies
// and means are those of the training part, which is read again.
PartQuality quality_on_part(const TrainedModel& trained, const InferenceData& data, const MetricValues& metrics);

// Returns "test" for a part of the data; "" for all of other data.
std::string name_of_part(DataPart part);

// Returns a line for each baseline and one that says who wins; "" without baselines.
std::string quality_text(const PartQuality& quality);

// Adds "baselines" and "winner" to the JSON of an evaluation; metrics have their names without "valid_".
void add_quality(const PartQuality& quality, nlohmann::ordered_json& json);

}  // namespace rnnlab
