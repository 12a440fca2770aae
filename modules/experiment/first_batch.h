// The first batch of an experiment's training samples, in their own order, for a look at the work before it begins.
#pragma once

#include "training/trainer.h"

namespace rnnlab {

// On options.device, of the training's batch size or of all samples if they are fewer.
Batch first_batch(const Samples& train, const TrainerOptions& options);

}  // namespace rnnlab
