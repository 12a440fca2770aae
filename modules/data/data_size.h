// Lower bounds of the size of data, computed before loading and compared with the memory limits.
#pragma once

#include <cstdint>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// Bytes that are in memory at once while the data are loaded: all samples of generated data, of files the largest one.
// A packed file counts as it is. A missing file counts nothing: loading it says where it was looked for.
int64_t least_data_bytes(const DataSettings& settings);

// Whether the data are drawn by rnnlab itself: then no file says more of them than the settings.
bool is_generated(const DataSettings& settings);

// Samples of generated data.
struct GeneratedCounts {
  int64_t train = 0;
  int64_t valid = 0;
};
GeneratedCounts generated_counts(const DataSettings& settings);

// Generated data have their shape. Of files it has what the settings say, and 1 for what only the file says.
DataShape least_shape(const DataSettings& settings);

}  // namespace rnnlab
