// Data for a model that is trained: read, checked and scaled exactly as its training data were, by what was fitted
// then. Nothing is fitted anew, so the same row always gives the same sample, whatever stands around it.
#pragma once

#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// The parts of training, split as it split them; or everything that there is as one part, in its own order.
enum class DataPart { kTrain, kValid, kAll };

// kWhereThere: targets may be absent altogether (undefined), and of a series the last windows are there too although
// their targets lie beyond its end (NaN, or class -1).
enum class Targets { kRequired, kWhereThere };

struct InferenceData {
  Samples samples;
  std::string description;         // one line
  std::vector<std::string> notes;  // what was done to the data on the way, a sentence each
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
