// Lists the experiments of a configuration: the combinations of its sweep, and how often each is measured.
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
  std::string label;  // "device=cpu layer=naive"; "" if there is only one case
  Experiment experiment;
  std::map<std::string, config::Place> places;  // of the keys that are set, for messages
  config::Repeats repeats = {};
};

// Returns every combination of the document's sweep, or its single experiment.
std::vector<ExperimentCase> read_cases(const config::Document& document, config::Findings& findings);

// Returns the label of the case, or the name of the experiment.
std::string name_of(const ExperimentCase& one);

// Returns the runs of a sweep that runs each case once.
std::vector<SweepEntry> entries_of(const std::vector<ExperimentCase>& cases);

// Cases with equal results of this function are compared with each other. Such cases may differ in the settings that a
// comparison varies (device, layer, convolution) and in settings that do not change the work of an epoch; `rnnlab
// compare` has the same rule.
std::string comparison_of(const Experiment& experiment);

// Returns the plan of a sweep from the cases of its files (sweep/plan.h). Throws UserError kUsage if the cases repeat
// rounds until a precision is reached, because the number of rounds is then not known in advance, or if there are too
// many runs.
SweepPlan plan_sweep(const std::vector<ExperimentCase>& cases, Spread spread, std::vector<std::string> command_line);

}  // namespace rnnlab
