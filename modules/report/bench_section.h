// Makes the report's section on one benchmark of layers.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "report/chart.h"
#include "report/make_report.h"
#include "report/report.h"

namespace rnnlab::report {

// Returns the charts of one benchmark: the ladder of layers as waterfalls, a sweep of sizes as heat maps of the gains,
// and the times as bars. The ids are "<prefix>-...". There is a waterfall for each size at which at least two steps of
// the ladder were measured, if there are at most six sizes, and there are heat maps if at least two kinds of sizes
// vary.
std::vector<Chart> bench_charts(const BenchReport& report, const std::string& prefix);

// Returns the warnings of the benchmark and the quality warnings of its rows, for the opening of the report.
std::vector<Block> alarms(const Benchmark& benchmark);

// `prefix` begins the ids of the section.
Section bench_section(const Benchmark& benchmark, const std::string& prefix);

}  // namespace rnnlab::report
