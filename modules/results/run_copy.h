// Folders that were copied: the same run twice is no second measurement.
#pragma once

#include "results/run_record.h"

namespace rnnlab {

// Whether both are one run: of one process, begun at the same time and equal in every number of every epoch. Before
// version 3, which did not record the process, the settings must be equal too.
bool is_copy(const RunRecord& a, const RunRecord& b);

}  // namespace rnnlab
