// Writes the metrics of an objective into the row of an epoch, and joins the rows of several processes.
#pragma once

#include <span>

#include "distributed/ranks.h"
#include "results/epoch_row.h"
#include "training/objective.h"

namespace rnnlab {

void put_training_metrics(const Metrics& metrics, EpochRow& row);
void put_validation_metrics(const Metrics& metrics, EpochRow& row);

// Returns the row of an epoch that several processes trained. Losses and metrics are the same in all `rows`, one of
// each rank; times differ. The result is `own` with the times of the slowest rank, the largest memory, the energy of
// all GPUs, and the difference between the slowest and the fastest rank. A process waits for slower ones in the
// exchange, so ranks are ordered by their time outside of the exchange. If a row lacks the time of the exchange, all of
// train_seconds counts.
EpochRow joined_row(const EpochRow& own, std::span<const EpochRow> rows);

// Gathers the rows of all ranks and returns joined_row() of them. All ranks must call this function.
EpochRow row_over_ranks(Ranks& ranks, const EpochRow& own);

}  // namespace rnnlab
