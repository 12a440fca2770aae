// Whether two groups of runs did the same work under the same conditions, so that their times may be compared. A
// comparison varies the device and the layer; data and their order, batch, model, initial weights, training settings,
// precision, hardware, build and what counts as warm-up must be equal.
#pragma once

#include <string>
#include <vector>

#include "results/remark.h"
#include "results/run_record.h"

namespace rnnlab {

// One remark on the group for each condition that differs from the baseline's, naming both groups and both values;
// empty when they are comparable. Weights (and data) are compared seed by seed, for they may follow from the seed.
std::vector<Remark> differences(const RunGroup& baseline, const RunGroup& group);

// What does not forbid the comparison but must be said loudly: no seed in common, losses that part at once.
std::vector<Remark> doubts_between(const RunGroup& baseline, const RunGroup& group);

// What does not forbid the comparison but must be said: other seeds, other versions, hardware that was not recorded.
std::vector<Remark> comparability_notes(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
