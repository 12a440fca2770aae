// What must be equal before the epoch times of two runs may be compared (results/summary.h, Identity).
#pragma once

#include "data/dataset.h"
#include "experiment/experiment.h"
#include "models/model.h"
#include "results/environment.h"
#include "results/summary.h"

namespace rnnlab {

// Call before the first update: it takes the digest of the model's initial weights.
Identity make_identity(const Experiment& experiment, c10::Device device, const Dataset& dataset, const Model& model,
                       const Environment& environment);

}  // namespace rnnlab
