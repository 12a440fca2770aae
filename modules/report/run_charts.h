// The charts of compared runs: epoch times and losses as curves, medians and ratios as bars, a sweep as a heat map. The
// numbers of the epoch rows and of the comparison are not changed.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab::report {

// Returns a name for each run of the group: the group's label, with the seed if the group has several runs.
std::vector<std::string> run_names(const RunGroup& group);

// The ids of the charts are "<prefix>-epoch-time" and so on.
std::vector<Chart> time_curves(const std::vector<RunGroup>& groups, const std::string& prefix);
std::vector<Chart> metric_curves(const std::vector<RunGroup>& groups, const std::string& prefix);

// Returns bars of times and ratios. Groups without a time are left out. With only one group there are no ratios.
std::vector<Chart> time_bars(const Comparison& comparison, const std::string& prefix);

// Returns the speed-up against the number of devices, with the ideal line, for the groups that have a speed-up.
std::vector<Chart> speed_up_curves(const Comparison& comparison, const std::string& prefix);

// Returns a heat map of the median epoch times if one to three settings vary and both axes have at least two values.
std::vector<Chart> sweep_maps(const std::vector<RunGroup>& groups, const Comparison& comparison,
                              const std::string& prefix);

}  // namespace rnnlab::report
