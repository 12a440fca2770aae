// The experiments that a configuration asks for: the combinations of its sweep, and how often each is measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/document.h"
#include "config/sweep.h"
#include "experiment/experiment.h"
#include "experiment/sweep_file.h"
#include "sweep/plan.h"

namespace rnnlab {

struct ExperimentCase {
  std::string label;  // "device=cpu layer=naive"; "" where there is nothing to tell apart
  Experiment experiment;
  std::map<std::string, config::Place> places;  // of the keys that are set, for messages
  config::Repeats repeats = {};
};

// Every combination that the document's sweep asks for, or the one experiment that it is.
std::vector<ExperimentCase> read_cases(const config::Document& document, config::Findings& findings);

// Its label, or the experiment's name.
std::string name_of(const ExperimentCase& one);

// The runs of a sweep that has each case once.
std::vector<SweepEntry> entries_of(const std::vector<ExperimentCase>& cases);

// The plan of a sweep from the cases of its files (sweep/plan.h).

// Which sides are of one comparison: cases with equal text. They may differ in what a comparison varies (device, layer,
// convolution) and in what does not change an epoch's work, as `rnnlab compare` has it.
std::string comparison_of(const Experiment& experiment);

// UserError kUsage if the cases have rounds up to a precision, which is only known while they run, or if there are too
// many runs.
SweepPlan plan_sweep(const std::vector<ExperimentCase>& cases, Spread spread, std::vector<std::string> command_line);

}  // namespace rnnlab
