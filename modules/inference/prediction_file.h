// Predictions as text: for each sample its number, the target if there is one, what is predicted, and how probable it
// is. For a CSV file each line also has the row of the file, and rows without a prediction have a line with the reason.
// The raw outputs as npy have no rows.
// Names of classes are written unchanged, even if a spreadsheet would take them for formulas, because programs read
// them back (SECURITY.md).
#pragma once

#include <filesystem>
#include <string>

#include "inference/predict.h"

namespace rnnlab {

// index,target,prediction,probability_<class>... for classes; index,target,prediction (and probability) for one target;
// index,target_<name>...,prediction_<name>... for several. What is unknown is empty. With `rows` also row and the
// columns of data.id after index, and reason at the end; a column of data.id with a name of these gets "id_" before it.
std::string prediction_csv(const Predictions& predictions, const FileRows& rows = {});

// An object a line, with the same names; several targets, probabilities of classes, and the columns of data.id as `id`,
// are objects by name. What is unknown is null.
std::string prediction_jsonl(const Predictions& predictions, const FileRows& rows = {});

// By the name's ending: .csv, .jsonl, or .npy for the raw outputs. Atomically. UserError kUsage for another ending,
// before anything is written, and kDevice.
void write_predictions(const std::filesystem::path& file, const Predictions& predictions, const FileRows& rows = {});
void require_prediction_file(const std::filesystem::path& file);

}  // namespace rnnlab
