// What must be equal before the epoch times of two runs may be compared (results/summary.h, Identity): what really ran,
// never the word that was asked for where that was "auto".
#pragma once

#include "data/dataset.h"
#include "experiment/experiment.h"
#include "models/model.h"
#include "results/environment.h"
#include "results/summary.h"

namespace rnnlab {

// What a run has before its first update: the model holds its initial weights.
struct RunStart {
  const Experiment& experiment;
  c10::Device device;
  Placement placement;  // of the training samples, never kAutomatic
  at::Tensor order;     // (N) int64: of the samples in the first epoch
  const Dataset& dataset;
  const Model& model;
  const Environment& environment;
};

Identity make_identity(const RunStart& start);

}  // namespace rnnlab
