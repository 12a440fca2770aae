// How the threads share a recurrence. It is cut into groups of sequences, and a group into parts of its units. A group
// depends on no other, so a group of one part runs through all steps without waiting; the parts of a group wait for one
// another after each step.
#pragma once

#include <c10/core/ScalarType.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "recurrent/kernels/simd_steps.h"

namespace rnnlab {

// Counts the steps that threads have finished, for those that depend on them. A waiting thread spins for some
// microseconds, about as long as equal work of two threads differs, and then sleeps until the count changes: it takes
// no CPU from the threads that it waits for.

// Spins before a thread sleeps. With more threads than CPUs the thread that is waited for may have none.
int64_t num_spins_for(int64_t num_threads);

// On cache lines of its own, because neighbouring counters belong to other threads.
class alignas(128) StepCounter {
 public:
  // Returns once the count is `count` or more. What was written before the add_one calls can be read then.
  void wait_for(int64_t count, int64_t num_spins) const;
  void add_one();

  // Nobody waits any more, now or later, because a thread failed.
  void give_up();

 private:
  std::atomic<int32_t> count_ = 0;
};

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
