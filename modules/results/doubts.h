// What makes the times of one group of runs doubtful, in words. Whether it may be compared with another is the business
// of comparability.h.
#pragma once

#include <string>
#include <vector>

#include "results/remark.h"
#include "results/run_record.h"

namespace rnnlab {

// Debug build, busy or throttled machine, a run that was kept waiting, warm-up that counts, and whatever in a run's
// folder contradicts itself.
std::vector<Remark> doubts(const RunGroup& group);

// Which runs were put together, and which folders were left out as copies.
std::vector<std::string> pooling_notes(const RunGroup& group);

// That several runs count as one process because their files do not tell which process it was.
std::vector<Remark> process_notes(const RunGroup& group);

// Names the groups whose losses and metrics are of fewer than three seeds; "" when there are none. Of times it says
// nothing: they follow the process, not the seed.
std::string few_seeds_note(const std::vector<RunGroup>& groups);

// The first epoch is in the medians.
bool counts_warmup(const RunRecord& run);

}  // namespace rnnlab
