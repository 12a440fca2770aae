// What makes a run doubtful: files that contradict each other, an ending before its time, and all that its rows and its
// environment show.
#pragma once

#include <string>
#include <vector>

#include "results/run_record.h"
#include "system/warning.h"

namespace rnnlab {

// What in a run's folder contradicts itself: a summary that differs from its rows, clocks that disagree, recorded
// hardware that differs from `environment.json`. A bug in the timing or an edited file causes this; a run
// as this program writes it has none.

// One sentence each, what it is before the first colon; nothing where all fits together.
std::vector<Warning> contradictions(const RunRecord& run);

// How a run ended: as its settings wanted, or before that. What did not end well is compared, for its epochs took the
// time that they took, but it is marked everywhere and measures no others.

bool is_complete(const RunGroup& group);

// "complete", "interrupted", "diverged"; the worst of several runs, with how many they are: "1 of 3 diverged".
std::string ending_text(const RunGroup& group);

// One sentence for each run that did not end well.
std::vector<Warning> ending_warnings(const RunGroup& group);

// What makes the times of one group of runs doubtful, in words. Whether it may be compared with another is the business
// of comparability.h.

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
