// SPDX-License-Identifier: Apache-2.0
// Checks whether two groups of runs did the same work under the same conditions, so that their times can be compared.
// Device and layer may differ. Data and their order, batch, model, initial weights, training settings, precision,
// hardware, build, treatment of the first epoch and the conditions that conditions.h refuses must be equal. Runs of two
// programs must be of the same machine; differences in initial weights, order of samples and values that only rnnlab's
// libraries report are noted. Values that a run of another program did not record are noted, too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/system/warning.h"
#include "results/conditions.h"
#include "results/run_record.h"

namespace rnnlab {

// Describes a condition of a run that all runs must share; conditions.h has the conditions of the machine.
struct RunCondition {
  const char* what;
  std::string (*value)(const RunRecord&);  // "": not recorded
  const char* config_section;              // the section of config.yaml with its settings; "" if no section has them
};
std::span<const RunCondition> run_conditions();

// Returns true unless both runs recorded a value and the values differ. Hashes of different versions are computed
// again.
bool are_equal(const RunCondition& condition, const RunRecord& a, const RunRecord& b);

// Returns one finding on the group for each condition that differs from the baseline's, with both groups and both
// values; empty if the groups are comparable. Weights, and data that depend on the seed, are compared between runs of
// equal seeds.
std::vector<GroupFinding> differences(const RunGroup& baseline, const RunGroup& group);

// Returns the settings by which the groups did different work on purpose: those of data, model and training, and the
// batch size. The times of such groups have no meaningful ratio, but their losses and metrics can be compared. Empty if
// the settings are equal, or do not explain a difference.
std::vector<GroupFinding> other_work(const RunGroup& baseline, const RunGroup& group);

// Returns those findings of differences() that do not concern the work, but the machine and the measurement.
std::vector<GroupFinding> differences_beside_work(const RunGroup& baseline, const RunGroup& group);

// Appends all findings of `more`.
void append(std::vector<GroupFinding>& all, const std::vector<GroupFinding>& more);

// Adds a finding on the group if both values were recorded ("" means not recorded) and differ. `first` is the
// baseline's.
void add_unequal(std::vector<GroupFinding>& found, const RunGroup& baseline, const RunGroup& group,
                 const std::string& what, const std::string& first, const std::string& second);

// Adds a difference if the processes of a run trained on unequal processors, and those of the other run on others.
void add_unequal_processors(std::vector<GroupFinding>& found, const RunGroup& baseline, const RunGroup& group);

// Returns the conditions of the machine (conditions.h) that require `on_unequal` and differ between any run of one side
// and any run of the other side, each condition once. Two runs of one group are named by their folders.
std::vector<GroupFinding> unequal_machines(const RunGroup& baseline, const RunGroup& group, OnUnequal on_unequal,
                                           const std::string& kind = "");

// Returns warnings about a comparison that is allowed: no common seed, losses that differ by more than rounding, and
// machine_warnings.
std::vector<GroupFinding> warnings_between(const RunGroup& baseline, const RunGroup& group);

// Returns the part of warnings_between that concerns the machines: different machines, or a side that waited.
std::vector<GroupFinding> machine_warnings(const RunGroup& baseline, const RunGroup& group);

// Returns notes about a comparison that is allowed: different seeds, different versions, values that were not recorded,
// and hours between the sides.
std::vector<GroupFinding> comparability_notes(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
