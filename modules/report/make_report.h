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

}  // namespace rnnlab::report
