// The section on runs that are set against each other.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab::report {

// Refusals and warnings of the comparison, for the opening of the report. `name` says whose they are.
std::vector<Block> alarms(const Comparison& comparison, const std::string& name);

// `comparison` is of `runs`. `prefix` begins the ids in it.
Section run_section(const std::vector<RunRecord>& runs, const Comparison& comparison, const std::string& heading,
                    const std::string& prefix);

}  // namespace rnnlab::report
