// Settings -> Dataset: the one door to all sources. What comes out is checked, split, cut and scaled, on the CPU;
// nothing of it is looked at twice.
#pragma once

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// UserError: kData for files that are missing, torn or do not fit together, kDiverged for NaN or Inf in binary files.
Dataset load_dataset(const DataSettings& settings);

}  // namespace rnnlab
