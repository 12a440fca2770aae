// The plan of a sweep from the cases of its files (sweep/plan.h).
#pragma once

#include <string>
#include <vector>

#include "experiment/cases.h"
#include "sweep/plan.h"

namespace rnnlab {

// Which sides are of one comparison: cases with equal text. They may differ in what a comparison varies (device, layer,
// convolution) and in what does not change an epoch's work, as `rnnlab compare` has it.
std::string comparison_of(const Experiment& experiment);

// UserError kUsage if the cases have rounds up to a precision, which is only known while they run, or if there are too
// many runs.
SweepPlan plan_sweep(const std::vector<ExperimentCase>& cases, Spread spread, std::vector<std::string> command_line);

}  // namespace rnnlab
