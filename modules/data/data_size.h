// Lower bounds of the size of data, computed before loading and compared with the memory limits.
#pragma once

#include <cstdint>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// Returns the bytes that loading the data keeps in memory at the same time: all samples of generated data, or the
// largest of the files. A packed file counts with its packed size, a missing file as 0, because loading reports it.
int64_t least_data_bytes(const DataSettings& settings);

// Returns whether rnnlab generates the data itself: then the settings determine their size, without files.
bool is_generated(const DataSettings& settings);

// Numbers of samples of generated data.
struct GeneratedCounts {
  int64_t train = 0;
  int64_t valid = 0;
};
GeneratedCounts generated_counts(const DataSettings& settings);

// Returns the shape of generated data. For files it returns the sizes that the settings state, and 1 for sizes that
// only the file states.
DataShape least_shape(const DataSettings& settings);

}  // namespace rnnlab
