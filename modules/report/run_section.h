// The section on runs that are set against each other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/report.h"
#include "results/comparison.h"
#include "results/run_record.h"
#include "system/table.h"

namespace rnnlab::report {

// What is known of each run besides its epochs, settings and machine, told so that many runs can be read: once what all
// share, and a row a run of what differs.

// Of one run: names in the order in which they are shown, each once, and values.
struct RunFacts {
  std::string run;
  std::vector<std::pair<std::string, std::string>> values;
};

// Machine, build, libraries, load, what ran and what must be equal for a comparison.
RunFacts environment_of(const RunRecord& run, const std::string& name);

// The settings of config.yaml.
RunFacts settings_of(const RunRecord& run, const std::string& name);

// A row for each fact that is equal in all of `runs`, of which there must be one.
TextTable shared_facts(const std::vector<RunFacts>& runs, const std::string& what);

// A row for each run, a column for each fact that is not; "absent" where a run does not have it.
TextTable differing_facts(const std::vector<RunFacts>& runs);

// Refusals and warnings of the comparison, for the opening of the report. `name` says whose they are.
std::vector<Block> alarms(const Comparison& comparison, const std::string& name);

// `comparison` is of `runs`. `prefix` begins the ids in it.
Section run_section(const std::vector<RunRecord>& runs, const Comparison& comparison, const std::string& heading,
                    const std::string& prefix);

}  // namespace rnnlab::report
