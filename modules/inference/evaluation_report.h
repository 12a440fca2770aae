// An evaluation, or a prediction that went to a file, for people and for programs.
#pragma once

#include <string>

#include "inference/evaluate_model.h"
#include "inference/predict.h"
#include "inference/trained_model.h"

namespace rnnlab {

// A line on the model, one on the data, one a metric, one on the time, and one for each of `machine`. Apart from these
// no line tells of the folders above the run and the data.
std::string evaluation_text(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const MachineFacts& machine = {});

// The same with all digits; metrics are called as in epochs.csv, without "valid_"; what is asked of the machine is
// below "machine".
std::string evaluation_json(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const MachineFacts& machine = {});

// "out.npy: 10,000 samples in 1.2 s, ..."; as JSON without the folders of `out`.
std::string prediction_text(const Predictions& predictions, const std::string& out);
std::string prediction_json(const TrainedModel& trained, const InferenceData& data, const Predictions& predictions,
                            const std::string& out);

}  // namespace rnnlab
