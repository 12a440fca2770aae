// When the runs of a comparison were measured: in turn, one side after the other, at the same time, and with rounds
// that were left out.
#pragma once

#include <optional>
#include <vector>

#include "results/remark.h"
#include "results/run_record.h"

namespace rnnlab {

// All runs of one side began before any of the other, and no rounds had both. Nothing where that is not so, or not
// known.
std::optional<Remark> order_remark(const RunGroup& baseline, const RunGroup& group);

// Groups with runs that trained at the same time on one GPU or on common CPU cores, and so disturbed each other: a
// reason to refuse their comparison. Not known of runs that were resumed, and of machines without an id. Runs of before
// version 3, and those of other programs, do not tell their GPU and cores: then the same name of a device counts.
std::vector<Remark> runs_that_shared(const std::vector<RunGroup>& groups);

// Groups with runs that trained at the same time on one machine, each with a GPU or cores of its own: what they still
// share, such as memory, is worth a warning.
std::vector<Remark> runs_on_one_machine(const std::vector<RunGroup>& groups);

// Both sides were measured in rounds, and one lacks rounds that the other has, or both lack rounds in between. Runs may
// have been left out, which changes the result; or a case failed, or was to have fewer rounds.
std::vector<Remark> missing_rounds(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
