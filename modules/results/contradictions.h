// What in a run's folder contradicts itself: a summary that its own rows do not bear out, a clock that another clock
// belies, an identity that its environment denies. A bug in the timing, or a hand in a file, leaves such a trace; a run
// as this program writes it has none.
#pragma once

#include <vector>

#include "results/run_record.h"
#include "results/warning.h"

namespace rnnlab {

// One sentence each, what it is before the first colon; nothing where all fits together.
std::vector<Warning> contradictions(const RunRecord& run);

}  // namespace rnnlab
