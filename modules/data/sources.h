// The loaders behind load_dataset and load_for_inference, one for each kind of source. They read, check and split;
// cutting, scaling of whole tensors, description and fingerprint follow for all of them alike.
#pragma once

#include <string>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/load_for_inference.h"

namespace rnnlab {

struct Loaded {
  Dataset dataset;                                 // without description and fingerprint
  std::string origin;                              // "mnist from data/mnist": begins the description
  Normalization normalize = Normalization::kNone;  // what is still to be done; not kAutomatic
};

Loaded load_source(const DataSettings& settings);

Loaded load_digits(const DataSettings& settings);
Loaded load_mnist(const DataSettings& settings);
Loaded load_arrays(const DataSettings& settings);  // idx and npy
Loaded load_csv(const DataSettings& settings);
Loaded load_text(const DataSettings& settings);
Loaded load_synthetic(const DataSettings& settings);

// One part of data that are read as those in `fitted` were. `settings` have its task and normalization.
struct LoadedPart {
  Samples samples;
  std::string origin;
  Normalization normalize = Normalization::kNone;  // what is still to be done
  std::vector<std::string> notes = {};
  FileRows rows = {};
};

LoadedPart load_csv_part(const DataSettings& settings, const FittedData& fitted, DataPart part, Targets targets);
LoadedPart load_text_part(const DataSettings& settings, const FittedData& fitted, DataPart part);
LoadedPart load_all_arrays(const DataSettings& settings, const FittedData& fitted, Targets targets);  // idx and npy

}  // namespace rnnlab
