// From what was measured to what a report says: training runs compared with one another, and benchmarks of layers.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "report/report.h"
#include "results/run_record.h"

namespace rnnlab::report {

struct Benchmark {
  std::string file;
  BenchReport report;
};

// A run or a benchmark that could not be read.
struct LeftOut {
  std::string source;  // as it was named
  std::string reason;
};

struct Sources {
  std::vector<RunRecord> runs;
  std::vector<Benchmark> benchmarks;
  std::vector<LeftOut> left_out = {};
};

// Runs that `rnnlab compare` takes together are one section. Where it refuses that and the runs are of several
// experiments, each experiment is a section of its own, and the report opens with the reasons. What it would refuse
// within a section is compared all the same, as by --force, and the report opens with that. So it does with every
// warning. UserError kUsage where there is nothing to report.
Report make_report(const Sources& sources);

// Removes everything from a report that names the machine or its user. CPU, GPU, load and libraries stay.

// `sources` without the host's name, its kernel and command lines, and with every path cut to what is below the folders
// of a user: runs to shared_run_name, files to their last name. Paths that differ keep names that differ, so a report
// compares the same runs with and without this. In texts of runs and errors, absolute paths lose their folders.
Sources without_machine(Sources sources);

}  // namespace rnnlab::report
