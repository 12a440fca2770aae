// What makes the times of one group of runs doubtful, in words. Whether it may be compared with another is the business
// of comparability.h.
#pragma once

#include <string>
#include <vector>

#include "results/remark.h"
#include "results/run_record.h"

namespace rnnlab {

// Debug build, busy or throttled machine, too few epochs to claim anything, warm-up that counts, and whatever in a
// run's folder contradicts itself.
std::vector<Remark> doubts(const RunGroup& group);

// Which runs were put together.
std::vector<std::string> pooling_notes(const RunGroup& group);

// Names the groups with fewer than three seeds; "" when there are none.
std::string few_seeds_note(const std::vector<RunGroup>& groups);

// The first epoch is in the medians.
bool counts_warmup(const RunRecord& run);

}  // namespace rnnlab
