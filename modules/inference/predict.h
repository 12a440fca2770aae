// SPDX-License-Identifier: Apache-2.0
// Predicts each sample with a trained model, and writes the predictions as text. The result has the raw outputs, and
// their interpretation: classes with probabilities, or values in the units of the targets.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "inference/evaluate_model.h"
#include "inference/trained_model.h"

namespace rnnlab {

enum class PredictionKind {
  kClasses,        // one of several
  kProbabilities,  // yes or no for each target
  kValues,
};

// N samples, K outputs.
struct Predictions {
  PredictionKind kind = PredictionKind::kClasses;
  std::vector<std::string> names;  // of the K classes or targets
  at::Tensor raw;                  // (N, K) float32: the result of the output layer
  at::Tensor values;               // (N, K) float64: probabilities, or values in the units of the targets
  at::Tensor targets;  // (N) int64 classes, -1 unknown; (N, K) float64, NaN unknown; undefined if there are no targets
  PassTimes times = {};  // of computing `raw`, including the copy to the host
};

// Language models are refused (see generate_text.h). Batches have training.valid_batch_size samples. All passes give
// equal outputs.
Predictions predict(const TrainedModel& trained, const Samples& samples, int64_t num_passes = 1);

// A file of predictions has for each sample its index, the target if it has one, the prediction, and its probability.
// For a CSV file each line also has the row of the file, and rows without a prediction have a line with the reason. The
// npy file of raw outputs has no rows of the file.
// Names of classes are written unchanged, even if a spreadsheet would read them as formulas, because programs read
// them back (SECURITY.md).

// Returns the columns index,target,prediction,probability_<class>... for classes; index,target,prediction (and
// probability) for one target; index,target_<name>...,prediction_<name>... for several targets. Unknown values are
// empty. With `rows`, row and the columns of data.id follow index, and reason is the last column. A column of data.id
// whose name is already used gets the prefix "id_".
std::string prediction_csv(const Predictions& predictions, const FileRows& rows = {});

// Returns one JSON object for each line, with the same names. Several targets, the probabilities of classes, and the
// columns of data.id (as `id`) are objects by name. Unknown values are null.
std::string prediction_jsonl(const Predictions& predictions, const FileRows& rows = {});

// Writes the format of the file's ending: .csv, .jsonl, or .npy for the raw outputs. The file is written atomically.
// Throws UserError kUsage for a different ending, before the file is written, and kDevice if it cannot be written.
void write_predictions(const std::filesystem::path& file, const Predictions& predictions, const FileRows& rows = {});
void require_prediction_file(const std::filesystem::path& file);

// Returns "out.npy: 10,000 samples in 1.2 s, ..."; the JSON leaves out the folders of `out`.
std::string prediction_text(const Predictions& predictions, const std::string& out);
std::string prediction_json(const TrainedModel& trained, const InferenceData& data, const Predictions& predictions,
                            const std::string& out);

}  // namespace rnnlab
