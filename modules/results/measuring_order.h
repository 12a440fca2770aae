// When the runs of a comparison were measured: in turn, one side after the other, at the same time, and with rounds
// that were left out.
#pragma once

#include <optional>
#include <vector>

#include "results/run_record.h"
#include "system/warning.h"

namespace rnnlab {

// The order in which the sides of a measurement take their turns. Each odd round draws an order at random, and the
// round after it takes the same order backwards. So over both rounds a change that is as fast all the time, such as a
// machine that gets warm, meets all sides alike.

// The sides 0 to `count` - 1 in the order of a round, which counts from 1. The same seed gives the same orders on every
// machine.
std::vector<size_t> order_of_round(uint64_t seed, int64_t round, size_t count);

// The seed that the random name of a measurement is, 16 hexadecimal digits (base/random.h).
uint64_t seed_of_measurement(const std::string& name);

// All runs of one side began before any of the other, and no rounds had both. Nothing where that is not so, or not
// known.
std::optional<Remark> order_remark(const RunGroup& baseline, const RunGroup& group);

// Groups with runs that trained at the same time on one GPU or on common CPU cores, and so disturbed each other: a
// reason to refuse their comparison. Not known of runs that were resumed. A machine without an id is known by its name.
// Runs of before version 3, and those of other programs, do not tell their GPU and cores: then the same name of a
// device counts.
std::vector<Remark> runs_that_shared(const std::vector<RunGroup>& groups);

// Groups with runs that trained at the same time on one machine, each with a GPU or cores of its own: what they still
// share, such as memory, is worth a warning.
std::vector<Remark> runs_on_one_machine(const std::vector<RunGroup>& groups);

// Both sides were measured in rounds, and one lacks rounds that the other has, or both lack rounds in between, or one
// has runs of a further measurement. Runs may have been left out, which changes the result; or a case failed, or was to
// have fewer rounds.
std::vector<Remark> missing_rounds(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
