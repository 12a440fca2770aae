// Writes an evaluation, or a prediction to a file, as text for people and as JSON for programs.
#pragma once

#include <string>

#include "inference/evaluate_model.h"
#include "inference/predict.h"
#include "inference/trained_model.h"

namespace rnnlab {

// Returns one line on the model, one on the data, one for each metric, one on the time, and one for each entry of
// `machine`. Only the entries of `machine` contain the folders above the run and the data.
std::string evaluation_text(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const MachineFacts& machine = {});

// Returns the same facts as JSON with all digits. Metrics have their names in epochs.csv, without "valid_"; the entries
// of `machine` are below "machine".
std::string evaluation_json(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const MachineFacts& machine = {});

// Returns "out.npy: 10,000 samples in 1.2 s, ..."; the JSON leaves out the folders of `out`.
std::string prediction_text(const Predictions& predictions, const std::string& out);
std::string prediction_json(const TrainedModel& trained, const InferenceData& data, const Predictions& predictions,
                            const std::string& out);

}  // namespace rnnlab
