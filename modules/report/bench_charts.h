// The charts of one benchmark: the ladder of layers as waterfalls, a sweep of sizes as heat maps of the gains, or the
// times as bars.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "report/chart.h"

namespace rnnlab::report {

// "<prefix>-..." are the ids. A waterfall for each size at which two rungs of the ladder at least were measured, of at
// most six sizes; heat maps where two sizes at least were measured for a layer.
std::vector<Chart> bench_charts(const BenchReport& report, const std::string& prefix);

}  // namespace rnnlab::report
