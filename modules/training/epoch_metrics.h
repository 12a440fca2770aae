// The metrics of an objective in the columns that an epoch's row has for them.
#pragma once

#include "results/epoch_row.h"
#include "training/objective.h"

namespace rnnlab {

void put_training_metrics(const Metrics& metrics, EpochRow& row);
void put_validation_metrics(const Metrics& metrics, EpochRow& row);

}  // namespace rnnlab
