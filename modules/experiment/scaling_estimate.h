// What several GPUs may gain over one, as told before a run of several processes begins: by the times of a pass over
// the whole batch and over one process's part, and of one exchange of gradients, each measured by itself. Not for CPUs,
// whose processes share what one would have.
#pragma once

#include <string>

#include "experiment/prepared_run.h"

namespace rnnlab {

struct ScalingEstimate {
  int64_t num_processes = 1;
  double whole_seconds = 0;     // forward and backward over a batch, on one GPU
  double part_seconds = 0;      // over a process's part of it, on the slowest
  double exchange_seconds = 0;  // for each batch
  int64_t num_bytes = 0;        // that a process sends to the others

  // As many times as fast as one GPU, with the same batch.
  double speedup() const { return whole_seconds / (part_seconds + exchange_seconds); }
  // Of the number of processes, where each has a batch as large as this one for itself.
  double weak_efficiency() const { return whole_seconds / (whole_seconds + exchange_seconds); }
};

// "expected: 1.6 times as fast as one GPU (...)"
std::string text_of(const ScalingEstimate& estimate);

// Before the first step, on all ranks; sets run.exchange_note where the run is one of several processes.
void note_exchange(PreparedRun& run);

}  // namespace rnnlab
