// Checks runs for reasons to doubt their times: files that contradict each other, an early end, and warnings that
// follow from the rows and the environment. comparability.h decides whether two groups can be compared.
#pragma once

#include <string>
#include <vector>

#include "results/run_record.h"
#include "system/warning.h"

namespace rnnlab {

// A run's folder contradicts itself if its summary differs from its rows, if its clocks disagree, or if recorded
// hardware differs from `environment.json`. A bug in the timing or an edited file causes this. An unchanged run of this
// program has no contradictions.

// Returns one sentence for each contradiction, with its topic before the first colon; empty if there are none.
std::vector<Warning> contradictions(const RunRecord& run);

// A run ends as its settings require, or earlier. A run that ended early is compared, because the times of its epochs
// are valid, but all outputs mark it. It is the baseline only if the user chooses it or no run is complete.

bool is_complete(const RunGroup& group);

// Returns "complete", "interrupted" or "diverged": the worst of several runs, with their number, such as "1 of 3
// diverged".
std::string ending_text(const RunGroup& group);

// Returns one sentence for each run that is not complete.
std::vector<Warning> ending_warnings(const RunGroup& group);

// The following functions report what makes the times of one group of runs doubtful.

// Warns about a debug build, a busy or throttled machine, a run that had to wait, a warm-up epoch that counts, and
// contradictions in a run's folder.
std::vector<Remark> doubts(const RunGroup& group);

// Returns notes that name the pooled runs, and the folders that were left out as copies.
std::vector<std::string> pooling_notes(const RunGroup& group);

// Returns a note if several runs count as one process because their files do not record the process.
std::vector<Remark> process_notes(const RunGroup& group);

// Names the groups whose losses and metrics are of fewer than three seeds; "" if there are none. Times are not
// mentioned, because they depend on the process, not on the seed.
std::string few_seeds_note(const std::vector<RunGroup>& groups);

// Returns whether the first epoch counts for the medians.
bool counts_warmup(const RunRecord& run);

}  // namespace rnnlab
