// Among how many devices a run was divided, a process each, and whether two runs differ in their number alone.
#pragma once

#include <cstdint>
#include <string>

#include "results/run_record.h"

namespace rnnlab {

// 1 of a process that trained alone.
int64_t num_devices(const RunRecord& run);

// Of an update, or their mean where they cannot be divided evenly.
double samples_a_device(const RunRecord& run);

// "gloo"; "" of a process that trained alone.
std::string exchange_engine(const RunRecord& run);

// It was resumed with another number, so its epochs are of several.
bool has_changed_devices(const RunRecord& run);

// "used" or "not used", for steps as CUDA graphs. A run may have asked for them and not got them, which its settings
// do not tell.
std::string graphs_text(const RunRecord& run);

// "cpu" or "cuda", whichever number it has.
std::string kind_of_device(const RunRecord& run);

// Whether each process of both runs has as many threads, or both runs have as many in all, but for rounding.
bool have_equal_threads(const RunRecord& a, const RunRecord& b);
bool share_equal_threads(const RunRecord& a, const RunRecord& b);

// Same work on as many samples an update, in the same way: only the number of devices differs, and what follows from it
// (threads of a process). Not of a run whose number changed, and of other programs.
bool differ_in_devices_alone(const RunRecord& a, const RunRecord& b);

}  // namespace rnnlab
