// Settings -> Dataset: the one door to all sources. What comes out is checked, split, cut and scaled, on the CPU;
// nothing of it is looked at twice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// Data for a model that is trained: read, checked and scaled exactly as its training data were, by what was fitted
// then. Nothing is fitted again, so the same row always gives the same sample, whatever stands around it.

// The parts of training, split as it split them; or everything that there is as one part, in its own order.
enum class DataPart { kTrain, kValid, kAll };

// kWhereThere: targets may be absent altogether (undefined) or missing in some rows (NaN, or class -1). Of a series the
// last windows are there too although their targets lie beyond its end.
enum class Targets { kRequired, kWhereThere };

// A row of a CSV file, or one that a forecast lies on beyond the end of the file.
struct FileRow {
  int64_t number = 0;             // of the file's rows of data, from 1: the header and blank lines do not count
  std::vector<std::string> id;    // what the columns of data.id hold, as in the file; empty beyond its end
  std::optional<int64_t> sample;  // the sample whose prediction is for this row
  std::string reason;             // why there is no sample; else empty
};

// The rows that predictions are for, in the order of the samples. Of a whole file every row, in the order of the file.
struct FileRows {
  std::vector<std::string> id_names;
  std::vector<FileRow> rows;  // empty where the data do not come from a CSV file
};

struct InferenceData {
  Samples samples;
  std::string description;         // one line, without the folder of the data
  std::vector<std::string> notes;  // what was done to the data on the way, a sentence each
  FileRows rows = {};              // with Targets::kWhereThere alone
};

// UserError as load_dataset, and kData where the data do not fit the model: other features, a class or token that
// training never saw, named; or where there are no samples. kUsage where a source has no kAll: generated ones and mnist
// have their parts.
InferenceData load_for_inference(const DataSettings& settings, const FittedData& fitted, DataPart part,
                                 Targets targets);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::DataPart> {
  static constexpr std::array<std::pair<rnnlab::DataPart, std::string_view>, 3> kNames = {
      {{rnnlab::DataPart::kTrain, "train"}, {rnnlab::DataPart::kValid, "valid"}, {rnnlab::DataPart::kAll, "all"}}};
};

namespace rnnlab {

// UserError: kData for files that are missing, torn or do not fit together, kDiverged for NaN or Inf in binary files.
Dataset load_dataset(const DataSettings& settings);

}  // namespace rnnlab
