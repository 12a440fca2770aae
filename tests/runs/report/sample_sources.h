// SPDX-License-Identifier: Apache-2.0
// Runs as they are read from folders, and reports of these runs, for tests.
#pragma once

#include <vector>

#include "results/sample_runs.h"
#include "runs/report/make_report.h"

namespace rnnlab::testing {

// Writes the runs to the folders "run0" and so on, reads them, and removes the folders.
std::vector<RunRecord> read_back(const std::vector<SampleRun>& runs);

// Returns a naive and a fused run of six timed epochs each, with 2 s and 1 s an epoch. naive is first.
std::vector<SampleRun> naive_and_fused();

report::Report report_of(const std::vector<SampleRun>& runs);

// Returns every chart in the report, in order.
std::vector<report::Chart> charts_in(const report::Report& report);

std::vector<std::string> ids(const std::vector<report::Chart>& charts);

// Returns the notices at the beginning of the report.
std::vector<report::Notice> opening_notices(const report::Report& report);

}  // namespace rnnlab::testing
