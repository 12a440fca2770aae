// SPDX-License-Identifier: Apache-2.0
// Makes a report from measurements: comparisons of training runs, and benchmarks of layers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"
#include "runs/report/report.h"
#include "runs/report/sections.h"

namespace rnnlab::report {

// A run or a benchmark that could not be read.
struct UnreadableSource {
  std::string source;  // path in the command line
  std::string reason;
};

struct Sources {
  std::vector<RunRecord> runs = {};
  std::vector<Benchmark> benchmarks = {};
  std::vector<UnreadableSource> left_out = {};
  std::vector<RunPredictions> predictions = {};
  std::optional<double> price_per_hour = std::nullopt;  // of the machine (results/epoch_cost.h)
};

// Runs that `rnnlab compare` accepts together form one section. If it refuses them and they belong to several
// experiments, each experiment has its own section, and the report opens with the reasons. Runs of one section that did
// different work have no ratio of times, as in `compare`. Other differences within a section are compared as with
// --force, and the report opens with these differences and with every warning. If no times are compared, and for a
// forecast, the report opens with the metric of the best run and its baseline and goes on with its predictions; times
// and doubts about them follow. Throws UserError kUsage if there are neither runs nor benchmarks.
Report make_report(const Sources& sources);

// Returns `sources` without values that identify the machine or its user: without the host's name, its kernel and
// command lines, and with every path cut to the part below a user's folders (runs to shared_run_name, files to their
// last name). Different paths keep different names, so a report compares the same runs with and without this function.
// In texts of runs and errors, absolute paths lose their folders. CPU, GPU, load and libraries stay.
Sources without_machine(Sources sources);

}  // namespace rnnlab::report
