// Whether two groups of runs did the same work under the same conditions, so that their times may be compared. A
// comparison varies the device and the layer; data and their order, batch, model, initial weights, training settings,
// precision, hardware, build, what counts as warm-up and the conditions that conditions.h refuses must be equal.
// Of two programs, the machine must be one and the same; initial weights, order, and what only a library of rnnlab
// tells, are noted. A run of another program may leave out what it cannot tell: that is noted, too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/run_record.h"
#include "system/warning.h"

namespace rnnlab {

// A condition that all runs must share, beyond those of the machine (conditions.h).
struct RunCondition {
  const char* what;
  std::string (*value)(const RunRecord&);  // "": not recorded
  const char* config_section;              // where its settings stand; "" for none
};
std::span<const RunCondition> run_conditions();

// One remark on the group for each condition that differs from the baseline's, naming both groups and both values;
// empty when they are comparable. Weights (and data) are compared seed by seed, for they may follow from the seed.
std::vector<Remark> differences(const RunGroup& baseline, const RunGroup& group);

// A remark on the group that this differs from the baseline's; not where one of them was not recorded ("").
void add_unequal(std::vector<Remark>& found, const RunGroup& baseline, const RunGroup& group, const std::string& what,
                 const std::string& first, const std::string& second);

// What does not forbid the comparison but must be said loudly: no seed in common, losses that part at once, another
// machine, a side that waited.
std::vector<Remark> doubts_between(const RunGroup& baseline, const RunGroup& group);

// What does not forbid the comparison but must be said: other seeds, other versions, what was not recorded, hours
// between the sides.
std::vector<Remark> comparability_notes(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
