// An evaluation, or a prediction that went to a file, for people and for programs.
#pragma once

#include <string>

#include "inference/evaluate_model.h"
#include "inference/predict.h"

namespace rnnlab {

// A line on the model, one on the data, one a metric, and one on the time.
std::string evaluation_text(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation);

// The same with all digits; metrics are called as in epochs.csv, without "valid_".
std::string evaluation_json(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation);

// "out.npy: 10,000 samples in 1.2 s, ...".
std::string prediction_text(const Predictions& predictions, const std::string& out);
std::string prediction_json(const TrainedModel& trained, const InferenceData& data, const Predictions& predictions,
                            const std::string& out);

}  // namespace rnnlab
