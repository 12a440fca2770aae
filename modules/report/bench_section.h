// The section on one benchmark of layers.
#pragma once

#include <string>
#include <vector>

#include "report/make_report.h"
#include "report/report.h"

namespace rnnlab::report {

// Warnings of the benchmark and doubts about its rows, for the opening of the report.
std::vector<Block> alarms(const Benchmark& benchmark);

// `prefix` begins the ids in it.
Section bench_section(const Benchmark& benchmark, const std::string& prefix);

}  // namespace rnnlab::report
