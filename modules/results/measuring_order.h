// SPDX-License-Identifier: Apache-2.0
// Defines the order in which runs are measured, and reports when the runs of a comparison were measured: in turn, one
// side after the other, at the same time, or with missing rounds.
#pragma once

#include <optional>
#include <vector>

#include "base/system/warning.h"
#include "results/run_record.h"

namespace rnnlab {

// The sides of a measurement take turns. Each odd round draws an order at random, and the next round uses the same
// order backwards. So over both rounds a change at a constant rate, as of a machine that gets warm, affects all sides
// equally.

// Returns the sides 0 to `count` - 1 in the order of a round; rounds count from 1. The same seed gives the same orders
// on every machine.
std::vector<size_t> order_of_round(uint64_t seed, int64_t round, size_t count);

// Returns the seed that the random name of a measurement encodes, 16 hexadecimal digits (base/random.h).
uint64_t seed_of_measurement(const std::string& name);

// Returns a finding if all runs of one side began before all runs of the other side and no measurement in rounds had
// both sides. Returns nothing otherwise, or if the starts are not known.
std::optional<GroupFinding> order_warning(const RunGroup& baseline, const RunGroup& group);

// Returns findings on groups with runs that trained at the same time on one GPU or on common CPU cores and so disturbed
// each other, which is a reason to refuse their comparison. Resumed runs are not checked. A machine without an id is
// identified by its name. Runs before version 3 and runs of other programs do not record their GPU and cores; their
// names of the device are compared.
std::vector<GroupFinding> shared_device_findings(const std::vector<RunGroup>& groups);

// Returns findings on groups with runs that trained at the same time on one machine, each with its own GPU or cores.
// Such runs still share, for example, memory, which is worth a warning.
std::vector<GroupFinding> shared_machine_warnings(const std::vector<RunGroup>& groups);

// Returns findings if both sides were measured in rounds, and one side lacks rounds of the other side, or both sides
// lack rounds in between, or one side has runs of a further measurement. Either runs were left out, which changes the
// result, or a case failed, or fewer rounds of a case were requested.
std::vector<GroupFinding> missing_rounds(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
