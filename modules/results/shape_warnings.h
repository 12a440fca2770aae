// The shape of a run's epochs, and of the processes of a group, in words (time_shape.h).
#pragma once

#include <span>
#include <vector>

#include "results/epoch_row.h"
#include "results/run_record.h"
#include "results/warning.h"

namespace rnnlab {

// Of the epochs that count. An epoch that is told of as not warm or as an outlier is left out of the rest.
std::vector<Warning> shape_warnings(std::span<const EpochRow> rows);

// Of the processes' times, in the order in which they ran.
std::vector<Warning> shape_warnings(const RunGroup& group);

}  // namespace rnnlab
