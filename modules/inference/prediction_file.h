// Predictions as text, a row a sample: its number, the target where there is one, what is predicted, and how probable
// it is; or the raw outputs as npy.
#pragma once

#include <filesystem>
#include <string>

#include "inference/predict.h"

namespace rnnlab {

// index,target,prediction,probability_<class>... for classes; index,target,prediction (and probability) for one target;
// index,target_<name>...,prediction_<name>... for several. What is unknown is empty.
std::string prediction_csv(const Predictions& predictions);

// An object a line, with the same names; several targets, and probabilities of classes, are objects by name. What is
// unknown is null.
std::string prediction_jsonl(const Predictions& predictions);

// By the name's ending: .csv, .jsonl, or .npy for the raw outputs. Atomically. UserError kUsage for another ending,
// before anything is written, and kDevice.
void write_predictions(const std::filesystem::path& file, const Predictions& predictions);
void require_prediction_file(const std::filesystem::path& file);

}  // namespace rnnlab
