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

// Runs that trained at the same time on one device, and so disturbed each other. Runs on CPUs share all of them. Not
// known of runs that were resumed, and of machines without an id.
std::vector<Remark> runs_at_one_time(const std::vector<RunGroup>& groups);

// Both sides were measured in rounds, and one lacks rounds that the other has, or both lack rounds in between. Runs may
// have been left out, which changes the result; or a case failed, or was to have fewer rounds.
std::vector<Remark> missing_rounds(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
