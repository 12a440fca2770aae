// The metrics of an objective in the columns that an epoch's row has for them.
#pragma once

#include <span>

#include "distributed/ranks.h"
#include "results/epoch_row.h"
#include "training/objective.h"

namespace rnnlab {

void put_training_metrics(const Metrics& metrics, EpochRow& row);
void put_validation_metrics(const Metrics& metrics, EpochRow& row);

// The row of an epoch that several processes trained: losses and metrics are the same on all of them, but each has its
// own times.

// The own row with the times of the slowest rank, the largest memory, the energy of all GPUs, and how far the slowest
// and the fastest are apart. A process waits in the exchange for slower ones, so what counts is its time outside of it.
// Without a time of the exchange, all of train_seconds counts. `rows`: of all ranks.
EpochRow joined_row(const EpochRow& own, std::span<const EpochRow> rows);

// The same by asking the others. Collective.
EpochRow row_over_ranks(Ranks& ranks, const EpochRow& own);

}  // namespace rnnlab
