// What makes the times of one group of runs doubtful, in words. Whether it may be compared with another is the business
// of comparability.h.
#pragma once

#include <string>
#include <vector>

#include "results/remark.h"
#include "results/run_record.h"

namespace rnnlab {

// Debug build, busy or throttled machine, too few epochs to claim anything, a first epoch that should have been
// warm-up.
std::vector<Remark> doubts(const RunGroup& group);

// Which runs were put together.
std::vector<std::string> pooling_notes(const RunGroup& group);

// Names the groups with fewer than three seeds; "" when there are none.
std::string few_seeds_note(const std::vector<RunGroup>& groups);

// Whether the first epoch, not marked as warm-up, is far off the others: above their third quartile by more than three
// interquartile ranges (Tukey's outer fence) and above their median by a tenth.
bool first_epoch_is_outlier(const std::vector<EpochRow>& rows);

}  // namespace rnnlab
