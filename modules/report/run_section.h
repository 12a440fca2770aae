// Makes the report's section on compared runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/report.h"
#include "results/comparison.h"
#include "results/run_record.h"
#include "system/table.h"

namespace rnnlab::report {

// The facts of one run except its epochs: names in the order of presentation, each once, with values. The tables below
// show shared facts once and differing facts in one row a run, so that many runs stay readable.
struct RunFacts {
  std::string run;
  std::vector<std::pair<std::string, std::string>> values;
};

// Returns machine, build, libraries, load, the executed path, and the values that must be equal for a comparison.
RunFacts environment_of(const RunRecord& run, const std::string& name);

// Returns the settings of config.yaml.
RunFacts settings_of(const RunRecord& run, const std::string& name);

// Returns a row for each fact that is equal in all of `runs`, which must not be empty.
TextTable shared_facts(const std::vector<RunFacts>& runs, const std::string& what);

// Returns a row for each run and a column for each fact that is not shared; "absent" if a run does not have the fact.
TextTable differing_facts(const std::vector<RunFacts>& runs);

// Returns refusals and warnings of the comparison, for the opening of the report. `name` names the compared runs.
std::vector<Block> alarms(const Comparison& comparison, const std::string& name);

// `comparison` must be the comparison of `runs`. `prefix` begins the ids of the section.
Section run_section(const std::vector<RunRecord>& runs, const Comparison& comparison, const std::string& heading,
                    const std::string& prefix);

}  // namespace rnnlab::report
