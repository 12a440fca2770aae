// Estimates the speed-up of several GPUs over one before a run of several processes begins, from the times of a pass
// over the whole batch, of a pass over one process's part, and of one exchange of gradients, each measured alone. Left
// out: CPUs, because processes on them share the CPUs that one process would have.
#pragma once

#include <string>

#include "experiment/prepared_run.h"

namespace rnnlab {

struct ScalingEstimate {
  int64_t num_processes = 1;
  double whole_seconds = 0;     // forward and backward over a batch, on one GPU
  double part_seconds = 0;      // over a process's part of it, on the slowest process
  double exchange_seconds = 0;  // for each batch
  int64_t num_bytes = 0;        // sent by a process to the others

  // Returns the speed relative to one GPU with the same batch.
  double speedup() const { return whole_seconds / (part_seconds + exchange_seconds); }
  // Returns the speed per process, relative to one GPU, if each process has a whole batch of this size.
  double weak_efficiency() const { return whole_seconds / (whole_seconds + exchange_seconds); }
};

// Returns for example "expected: 1.6 times as fast as one GPU (...)".
std::string text_of(const ScalingEstimate& estimate);

// Call this function before the first step, on all ranks; it sets run.exchange_note if the run has several processes.
void note_exchange(PreparedRun& run);

}  // namespace rnnlab
