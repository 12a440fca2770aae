// Loads a Dataset from settings, for all sources. The result is checked, split, cut and scaled, and lies on the CPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// Data for a trained model are read, checked and scaled exactly as its training data were, with the values fitted in
// training. No value is fitted again, so a row always gives the same sample, independent of the rows around it.

// kTrain and kValid: the parts of training, with the same split. kAll: all data as one part, in their own order.
enum class DataPart { kTrain, kValid, kAll };

// kWhereThere: all targets may be absent (undefined), or some may be missing (NaN, or class -1). The last windows of a
// series are included although their targets lie after its end.
enum class Targets { kRequired, kWhereThere };

// A row of a CSV file, or a row of a forecast after the end of the file.
struct FileRow {
  int64_t number = 0;             // number of the row of data, from 1: the header and blank lines do not count
  std::vector<std::string> id;    // cells of the columns of data.id, as in the file; empty for forecast rows
  std::optional<int64_t> sample;  // the sample whose prediction is for this row
  std::string reason;             // why the row has no sample; else empty
};

// The rows of the predictions, in the order of the samples. For a whole file: every row, in the order of the file.
struct FileRows {
  std::vector<std::string> id_names;
  std::vector<FileRow> rows;  // empty if the data do not come from a CSV file
};

struct InferenceData {
  Samples samples;
  std::string description;         // one line, without the folder of the data
  std::vector<std::string> notes;  // sentences about changes to the data while loading
  FileRows rows = {};              // only with Targets::kWhereThere
};

// Throws UserError as load_dataset, and kData if the data do not fit the model (different features, or a class or token
// that is not in the training data, which the message names) or if there are no samples. Throws kUsage for kAll of
// generated data and of mnist, because they have fixed parts.
InferenceData load_for_inference(const DataSettings& settings, const FittedData& fitted, DataPart part,
                                 Targets targets);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::DataPart> {
  static constexpr std::array<std::pair<rnnlab::DataPart, std::string_view>, 3> kNames = {
      {{rnnlab::DataPart::kTrain, "train"}, {rnnlab::DataPart::kValid, "valid"}, {rnnlab::DataPart::kAll, "all"}}};
};

namespace rnnlab {

// Throws UserError kData for missing, damaged or inconsistent files; kDiverged for NaN or Inf in binary files.
Dataset load_dataset(const DataSettings& settings);

}  // namespace rnnlab
