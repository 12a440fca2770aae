// Runs as they are read back from folders, and reports of them, for tests of what is made from them.
#pragma once

#include <vector>

#include "report/make_report.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {

// Written to folders of their own, "run0" and so on, and read back; the folders are gone then.
std::vector<RunRecord> read_back(const std::vector<SampleRun>& runs);

// A naive and a fused run of six timed epochs each: 2 s and 1 s an epoch. fused is the baseline's rival, naive first.
std::vector<SampleRun> naive_and_fused();

report::Report report_of(const std::vector<SampleRun>& runs);

// Every chart in it, in order.
std::vector<report::Chart> charts_in(const report::Report& report);

std::vector<std::string> ids(const std::vector<report::Chart>& charts);

// The notices before everything else.
std::vector<report::Notice> opening_notices(const report::Report& report);

}  // namespace rnnlab::testing
