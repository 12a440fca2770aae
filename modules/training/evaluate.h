// Computes a model's loss and metric over a set of samples: without dropout and gradients, in the run's precision. The
// sums are those of training, so that both can be compared.
#pragma once

#include "distributed/ranks.h"
#include "models/model.h"
#include "training/batch_loop.h"
#include "training/objective.h"
#include "training/precision.h"

namespace rnnlab {

// Returns the work that evaluates one batch in a BatchLoop. Model and objective must outlive the work.
BatchLoop::Work evaluation_work(Model& model, const Objective& objective, Precision precision);

// Evaluates one epoch of `batches` with `loop`, which must have been made of these batches and of evaluation_work().
// Waits for the device at the end and restores the model's mode. If `ranks` is not null, each rank evaluates its share
// of the batches (BatchShare::Kind::kWholeBatches); every rank returns the same totals, bit for bit those of one
// process.
Totals evaluate(Model& model, Batches& batches, BatchLoop& loop, c10::Device device, Ranks* ranks = nullptr);

}  // namespace rnnlab
