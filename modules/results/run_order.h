// The order in which runs are shown and the first of them is the baseline: that of their sweep, whatever order the
// names of their folders give, so that every table of a sweep begins with the same run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/run_record.h"

namespace rnnlab {

// Runs stay where they were named, but those of one measurement come by their number in the sweep, and those of one
// experiment that began in one second by the moment of their start: the folders of one second are named by device and
// layer.
std::vector<const RunRecord*> in_order_of_sweeps(const std::vector<RunRecord>& runs);

// "2026-11-21T02:59:51.079Z", when the log of the run's folder begins; "" where there is none.
std::string start_by_log(const std::filesystem::path& folder);

}  // namespace rnnlab
