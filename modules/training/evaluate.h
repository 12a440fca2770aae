// A model's loss and metric over a set of samples: dropout off, no gradients, in the run's precision. The same sums as
// in training, so that both can be compared.
#pragma once

#include "distributed/ranks.h"
#include "models/model.h"
#include "training/batch_loop.h"
#include "training/objective.h"
#include "training/precision.h"

namespace rnnlab {

// What evaluates one batch, for a loop over them. Model and objective must outlive it.
BatchLoop::Work evaluation_work(Model& model, const Objective& objective, Precision precision);

// Goes through one epoch of `batches` by `loop`, which is made of them and of evaluation_work. Waits for the device at
// the end; the model's mode is what it was before. `ranks`, where not null, each go through their share of the batches
// (BatchShare::Kind::kWholeBatches): the totals of all are the same bits on each of them, and those of one process.
Totals evaluate(Model& model, Batches& batches, BatchLoop& loop, c10::Device device, Ranks* ranks = nullptr);

}  // namespace rnnlab
