// SPDX-License-Identifier: Apache-2.0
// Writes predictions as CSV, as JSON lines or as an npy file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runs/use/predict.h"
#include "runs/use/trained_model.h"

namespace rnnlab {

// A file of predictions has for each sample its index, the target if it has one, the prediction, and its probability.
// For a CSV file each line also has the row of the file, and rows without a prediction have a line with the reason. If
// each step of an array has a target, a line has the numbers of its sample and step. The npy file of raw outputs has no
// such columns.
// Names of classes are written unchanged, even if a spreadsheet would read them as formulas, because programs read
// them back (SECURITY.md).

// The long form of forecasts has a line for each window and horizon.
struct LongForm {
  std::vector<std::string> targets;
  std::vector<int64_t>
      horizons;  // of each target; the outputs are the horizons of the first target, then of the second
};

// Returns the long form of a model's predictions; nullopt if it does not forecast from windows of a series.
std::optional<LongForm> long_form(const TrainedModel& trained);

// Returns the columns index,target,prediction,probability_<class>... for classes; index,target,prediction (and
// probability) for one target; index,target_<name>...,prediction_<name>... for several targets. Forecasts with a
// distribution also have quantile_<level>, or quantile_<level>_<name>.... Unknown values are empty. With `rows`, row
// and the columns of data.id follow index, and reason is the last column. A column of data.id whose name is already
// used gets the prefix "id_". In the long form these are index, row, the columns of data.id, time, horizon, target and
// prediction, of several targets target_<name>... and prediction_<name>..., and likewise the quantiles; row, id and
// time are those of the row that is forecast, and rows without a prediction have no line.
std::string prediction_csv(const Predictions& predictions, const FileRows& rows = {},
                           const std::optional<LongForm>& form = {});

// Returns one JSON object for each line, with the same names. Several targets, the probabilities of classes, and the
// columns of data.id (as `id`) are objects by name. Unknown values are null.
std::string prediction_jsonl(const Predictions& predictions, const FileRows& rows = {},
                             const std::optional<LongForm>& form = {});

// The rows of a stream, which come one at a time: the first line of CSV, and the prediction of the only row of `rows`
// as a line of CSV or JSON. They have neither `index` nor `reason`, because each row has a prediction.
std::string streamed_names(const Predictions& predictions, const FileRows& rows);
std::string streamed_csv(const Predictions& predictions, const FileRows& rows);
std::string streamed_json(const Predictions& predictions, const FileRows& rows);

// Returns a note for rows of the file that have no prediction.
std::optional<std::string> note_on_rows(const FileRows& rows, const std::optional<LongForm>& form = {});

// Writes the format of the file's ending: .csv, .jsonl, or .npy for the raw outputs. The file is written atomically.
// Throws UserError kUsage for a different ending, before the file is written, and kDevice if it cannot be written.
void write_predictions(const std::filesystem::path& file, const Predictions& predictions, const FileRows& rows = {},
                       const std::optional<LongForm>& form = {});
void require_prediction_file(const std::filesystem::path& file);

// Returns "out.npy: 10,000 samples in 1.2 s, ..."; the JSON leaves out the folders of `out`.
std::string prediction_text(const Predictions& predictions, const std::string& out);
std::string prediction_json(const TrainedModel& trained, const InferenceData& data, const Predictions& predictions,
                            const std::string& out);

}  // namespace rnnlab
