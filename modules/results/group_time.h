// How long a group's epochs take, and whether that is faster than the baseline's: over processes, not epochs.
// docs/timing.md says how often the intervals hold the truth.
#pragma once

#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab {

// Fills in processes, epochs, seconds and their bounds. Without an epoch after warm-up there are none.
void measure_time(GroupResult& result, const RunGroup& group);

// Fills in the ratio to the baseline, its interval, p and the verdict, as far as there are processes enough.
void set_against(GroupResult& result, const RunGroup& group, const RunGroup& baseline);

}  // namespace rnnlab
