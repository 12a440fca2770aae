// How the threads share a recurrence. It is cut into groups of sequences, and a group into parts of its units. A group
// depends on no other, so a group of one part runs through all steps without waiting; the parts of a group wait for one
// another after each step.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>

#include "recurrent/kernels/simd_steps.h"

namespace rnnlab {

struct RecurrenceSize {
  int64_t num_steps, batch_size;
  int64_t num_blocks;     // of kPanelWidth units
  int64_t work_of_block;  // multiplications of one block of units for one sequence and step
  at::ScalarType type = at::kFloat;
};

struct WorkSplit {
  int64_t rows_of_group, blocks_of_part;
  int64_t num_groups, num_parts;

  friend bool operator==(const WorkSplit&, const WorkSplit&) = default;
};

// The split that should take the least time. With fewer sequences and units than threads some have nothing to do.
WorkSplit split_work(const RecurrenceSize& size, int64_t num_threads);

// One step of some sequences and some blocks of units.
using RunStep = std::function<void(int64_t step, const kernels::Range& rows, const kernels::Range& blocks)>;

// Steps 0, 1, ... in order, for all sequences and units: a step begins once the one before it is done for the same
// sequences. `run` is called from several threads.
void run_recurrence(const RecurrenceSize& size, const RunStep& run);

}  // namespace rnnlab
