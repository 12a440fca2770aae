// How a run ended: as its settings wanted, or before that. What did not end well is compared, for its epochs took the
// time that they took, but it is marked everywhere and measures no others.
#pragma once

#include <string>
#include <vector>

#include "results/run_record.h"
#include "results/warning.h"

namespace rnnlab {

bool is_complete(const RunGroup& group);

// "complete", "interrupted", "diverged"; the worst of several runs, with how many they are: "1 of 3 diverged".
std::string ending_text(const RunGroup& group);

// One sentence for each run that did not end well.
std::vector<Warning> ending_warnings(const RunGroup& group);

}  // namespace rnnlab
