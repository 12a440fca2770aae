// `layer: auto`: every kind that can do the experiment's work, timed on it, and the fastest taken. The rungs of the
// ladder below fused_pointwise, and below persistent, are left out where any other can: a higher rung has all that they
// have. What is measured is forward and backward over the first batch, as training will run it: as a CUDA graph where
// the experiment asks for graphs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "training/trainer.h"

namespace rnnlab {

struct FastestLayer {
  LayerKind kind;
  std::string note;  // "layer: auto took fused, by the time of a pass: hoisted 1.32 ms, fused 912 us"
};

// Those that neither the options nor the processor rule out, and that may be the fastest. Not persistent in fp32, where
// small factors have fewer digits, nor for rnn_relu in tf32, whose states may overflow float16 (docs/persistent.md):
// that is for who asks for it.
std::vector<LayerKind> candidates(const RecurrentOptions& options, Precision precision, Processor processor);

// Seconds of a pass with this kind of layer. UserError kUsage where it turns out that the kind cannot do it.
using MeasureLayer = std::function<double(LayerKind)>;

// Of those that can. The error of the last one where none can.
FastestLayer fastest_of(const std::vector<LayerKind>& kinds, const MeasureLayer& measure);

// Builds a model of each kind on the device and times it; nothing of it stays.
MeasureLayer measure_training(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options);

}  // namespace rnnlab
