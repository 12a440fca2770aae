// The loaders behind load_dataset, one for each kind of source. They read, check and split; cutting, scaling of whole
// tensors, description and fingerprint follow for all of them alike.
#pragma once

#include <string>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

struct Loaded {
  Dataset dataset;                                 // without description and fingerprint
  std::string origin;                              // "mnist from data/mnist": begins the description
  Normalization normalize = Normalization::kNone;  // what is still to be done; not kAutomatic
};

Loaded load_digits(const DataSettings& settings);
Loaded load_mnist(const DataSettings& settings);
Loaded load_arrays(const DataSettings& settings);  // idx and npy
Loaded load_csv(const DataSettings& settings);
Loaded load_text(const DataSettings& settings);
Loaded load_synthetic(const DataSettings& settings);

}  // namespace rnnlab
