// A model's loss and metric over a set of samples: dropout off, no gradients,
// in the run's precision. The same sums as in training, so that both can be
// compared.
#pragma once

#include "data/batches.h"
#include "models/model.h"
#include "training/objective.h"
#include "training/precision.h"

namespace rnnlab {

// Goes through the epoch of `batches` once. Waits for the device at the end;
// the model's mode is what it was before.
Totals evaluate(Model& model, Batches& batches, const Objective& objective, Precision precision, c10::Device device);

}  // namespace rnnlab
