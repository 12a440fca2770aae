// The section on one benchmark of layers.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "report/chart.h"
#include "report/make_report.h"
#include "report/report.h"

namespace rnnlab::report {

// The charts of one benchmark: the ladder of layers as waterfalls, a sweep of sizes as heat maps of the gains, or the
// times as bars.

// "<prefix>-..." are the ids. A waterfall for each size at which two rungs of the ladder at least were measured, of at
// most six sizes; heat maps where two sizes at least were measured for a layer.
std::vector<Chart> bench_charts(const BenchReport& report, const std::string& prefix);

// Warnings of the benchmark and doubts about its rows, for the opening of the report.
std::vector<Block> alarms(const Benchmark& benchmark);

// `prefix` begins the ids in it.
Section bench_section(const Benchmark& benchmark, const std::string& prefix);

}  // namespace rnnlab::report
