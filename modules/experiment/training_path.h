// Which code really runs when a model trains on a device: LibTorch chooses behind one name, so the choice is watched,
// not predicted.
#pragma once

#include "recurrent/execution_path.h"
#include "training/trainer.h"

namespace rnnlab {

// Watches one forward and backward pass over the first batch. `model` must be on the device; its weights are left as
// they are, and dropout is seeded anew at every epoch, so training does not notice.
ExecutionPath observe_training_path(Model& model, const Dataset& dataset, const TrainerOptions& options);

// Compiles and loads what `layer: persistent` runs for the other batch sizes of training and validation, so that no
// timed epoch waits for it. Likewise unnoticed.
void load_kernels(Model& model, const Dataset& dataset, const TrainerOptions& options);

}  // namespace rnnlab
