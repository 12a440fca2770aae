// SPDX-License-Identifier: Apache-2.0
// Checks runs for reasons to doubt their times: files that contradict each other, an early end, and warnings that
// follow from the rows and the environment. waiting.h has the checks of counters, and time_shape.h those of the times
// themselves. comparability.h decides whether two groups can be compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/system/warning.h"
#include "results/run_record.h"

namespace rnnlab {

// A run's folder contradicts itself if its summary differs from its rows, if its clocks disagree, or if recorded
// hardware differs from `environment.json`. A bug in the timing or an edited file causes this. An unchanged run of this
// program is consistent.

// Returns one sentence for each contradiction between the files, with its topic before the first colon; empty if the
// files agree.
std::vector<Warning> check_consistency(const RunRecord& run);

// A run ends as its settings require, or earlier. A run that ended early is compared, because the times of its epochs
// are valid, but all outputs mark it. It is the baseline only if the user chooses it or no run is complete.

bool is_complete(const RunGroup& group);

// Returns "complete", "interrupted" or "diverged": the worst of several runs, with their number, such as "1 of 3
// diverged".
std::string ending_text(const RunGroup& group);

// Returns one sentence for each run that is not complete.
std::vector<Warning> ending_warnings(const RunGroup& group);

// The following functions warn about the times of one group of runs.

// Warns about a debug build, a busy or throttled machine, a run that had to wait, a warm-up epoch that counts, and
// files of a run's folder that contradict each other.
std::vector<GroupFinding> quality_warnings(const RunGroup& group);

// Returns the sets of subjects in the findings on these groups, the largest first: all runs, all groups, and the runs
// of each group ("all 5 runs of cpu naive").
std::vector<NamedSet> sets_of_runs(const std::vector<RunGroup>& groups);

// Warns if the seeds of a group have different numbers of runs: a seed that was run twice is not a second sample of the
// seeds.
std::vector<GroupFinding> unequal_seeds(const RunGroup& group);

// Returns notes that name the pooled runs.
std::vector<std::string> pooling_notes(const RunGroup& group);

// Names the folders that were left out as copies; nothing if there are none.
std::optional<Warning> copies_warning(const RunGroup& group);

// Returns a note if several runs count as one process because their files do not record the process.
std::vector<GroupFinding> process_notes(const RunGroup& group);

// Names the groups whose losses and metrics are of fewer than three seeds; "" if there are none. Times are not
// mentioned, because they depend on the process, not on the seed.
std::string few_seeds_note(const std::vector<RunGroup>& groups);

// Returns whether the first epoch counts for the medians.
bool counts_warmup(const RunRecord& run);

}  // namespace rnnlab
