// SPDX-License-Identifier: Apache-2.0
// Divides a recurrence among threads. The sequences are cut into groups, and the units of a group into parts. A group
// does not depend on other groups, so a group of one part runs through all steps without waiting; the parts of a group
// wait for each other after each step.
#pragma once

#include <c10/core/ScalarType.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "layers/kernels/simd_steps.h"

namespace rnnlab {

// A counter of the steps that threads have finished, for threads that depend on these steps. A waiting thread spins for
// some microseconds, about as long as the times of equal work differ, and then sleeps until the count changes. So a
// waiting thread takes no CPU from the threads for which it waits.

// Returns the number of spins before a thread sleeps. With more threads than CPUs the number is small, because the
// awaited thread may need this CPU.
int64_t num_spins_for(int64_t num_threads);

// The alignment gives each counter its own cache lines, because neighbouring counters belong to other threads.
class alignas(128) StepCounter {
 public:
  // Returns when the count is `count` or more. Memory that was written before the add_one calls can then be read.
  void wait_for(int64_t count, int64_t num_spins) const;
  void add_one();

  // Ends all present and future waits, because a thread has failed.
  void give_up();

 private:
  std::atomic<int32_t> count_ = 0;
};

struct RecurrenceSize {
  int64_t num_steps, batch_size;
  int64_t num_blocks;     // blocks have kPanelWidth units
  int64_t work_of_block;  // multiplications of one block of units for one sequence and step
  at::ScalarType type = at::kFloat;
};

struct WorkSplit {
  int64_t rows_of_group, blocks_of_part;
  int64_t num_groups, num_parts;

  friend bool operator==(const WorkSplit&, const WorkSplit&) = default;
};

// Returns the split with the least estimated time. With fewer sequences and units than threads, some threads have no
// work.
WorkSplit split_work(const RecurrenceSize& size, int64_t num_threads);

// Computes one step of some sequences and some blocks of units.
using RunStep = std::function<void(int64_t step, const kernels::Range& rows, const kernels::Range& blocks)>;

// Runs steps 0, 1, ... in order, for all sequences and units: a step begins when the step before is done for the same
// sequences. `run` is called from several threads.
void run_recurrence(const RecurrenceSize& size, const RunStep& run);

}  // namespace rnnlab
