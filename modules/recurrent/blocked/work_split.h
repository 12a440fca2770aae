// How the threads share a recurrence. A large batch is cut into blocks of sequences: a thread takes its block through
// all steps and never waits. A small one stays whole, and the threads share the units of each step, for which the next
// one waits.
#pragma once

#include <cstdint>
#include <functional>

#include "recurrent/kernels/simd_steps.h"

namespace rnnlab {

struct RecurrenceSize {
  int64_t num_steps, batch_size;
  int64_t num_blocks;     // of kPanelWidth units
  int64_t work_of_block;  // multiplications of one block of units for one sequence and step
};

// One step of some sequences and some blocks of units.
using RunStep = std::function<void(int64_t step, const kernels::Range& rows, const kernels::Range& blocks)>;

bool splits_batch(const RecurrenceSize& size);

// Steps 0, 1, ... in order, for all sequences and units; `run` is called from several threads.
void run_recurrence(const RecurrenceSize& size, const RunStep& run);

}  // namespace rnnlab
