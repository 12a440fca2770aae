// The charts of runs that are set against each other: epoch times and losses as curves, medians and ratios as bars, a
// sweep as a heat map. Numbers are those of the epoch rows and of the comparison, as they are.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab::report {

// A name for each run, in the order of the groups: its group's label, with the seed where the group has several runs.
std::vector<std::string> run_names(const RunGroup& group);

// "<prefix>-epoch-time" and so on are the charts' ids.
std::vector<Chart> time_curves(const std::vector<RunGroup>& groups, const std::string& prefix);
std::vector<Chart> metric_curves(const std::vector<RunGroup>& groups, const std::string& prefix);

// Without the groups that have no time. No ratios where there is but one group.
std::vector<Chart> time_bars(const Comparison& comparison, const std::string& prefix);

// Of the groups that have one, against the number of their devices, beside the ideal line.
std::vector<Chart> speed_up_curves(const Comparison& comparison, const std::string& prefix);

// Of the median epoch times, where one to three settings vary and both sides have two values at least.
std::vector<Chart> sweep_maps(const std::vector<RunGroup>& groups, const Comparison& comparison,
                              const std::string& prefix);

}  // namespace rnnlab::report
