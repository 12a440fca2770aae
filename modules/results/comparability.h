// Whether two groups of runs did the same work under the same conditions, so that their times may be compared. A
// comparison varies the device and the layer; data and their order, batch, model, initial weights, training settings,
// precision, hardware, build, what counts as warm-up and the conditions that conditions.h refuses must be equal.
// Of two programs, the machine must be one and the same; initial weights, order, and what only a library of rnnlab
// tells, are noted. A run of another program may leave out what it cannot tell: that is noted, too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/conditions.h"
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

// Whether two runs have the same value, as far as both recorded it. Hashes of different versions are computed again.
bool are_equal(const RunCondition& condition, const RunRecord& a, const RunRecord& b);

// One remark on the group for each condition that differs from the baseline's, naming both groups and both values;
// empty when they are comparable. Weights (and data) are compared seed by seed, for they may follow from the seed.
std::vector<Remark> differences(const RunGroup& baseline, const RunGroup& group);

// A remark on the group that this differs from the baseline's; not where one of them was not recorded ("").
void add_unequal(std::vector<Remark>& found, const RunGroup& baseline, const RunGroup& group, const std::string& what,
                 const std::string& first, const std::string& second);

// The conditions of the machine (conditions.h) in which any run of the one side differs from any of the other and which
// ask for `on_unequal`, each once. Two runs of one group are told apart by their folders.
std::vector<Remark> unequal_machines(const RunGroup& baseline, const RunGroup& group, OnUnequal on_unequal,
                                     const std::string& kind = "");

// What does not forbid the comparison but is worth a warning: no seed in common, losses that part at once, and
// machine_doubts.
std::vector<Remark> doubts_between(const RunGroup& baseline, const RunGroup& group);

// The part of them that concerns the machines alone: another machine, a side that waited.
std::vector<Remark> machine_doubts(const RunGroup& baseline, const RunGroup& group);

// What does not forbid the comparison but must be said: other seeds, other versions, what was not recorded, hours
// between the sides.
std::vector<Remark> comparability_notes(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
