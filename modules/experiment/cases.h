// The experiments that a configuration asks for: the combinations of its sweep, and how often each is measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/document.h"
#include "config/repeats.h"
#include "experiment/experiment.h"
#include "experiment/sweep_file.h"

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

}  // namespace rnnlab
