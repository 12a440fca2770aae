// `layer: auto`: every kind that can do the experiment's work, timed on it, and the fastest taken. A kind that cannot
// start, has no code for this GPU, or runs out of memory is left out with a note, and never ends the run. The rungs of
// the ladder below fused_pointwise, and below persistent, are timed only where none of the others can: a higher rung
// has all that they have. What is measured is forward and backward over the first batch, as training will run it: as a
// CUDA graph where the experiment asks for graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/experiment.h"
#include "training/trainer.h"

namespace rnnlab {

// The first batch of an experiment's training samples, in their own order, for a look at the work before it begins.

// On options.device, of the training's batch size or of all samples if they are fewer.
Batch first_batch(const Samples& train, const TrainerOptions& options);

// How many threads an operation on the CPU uses if training.num_threads is not set: one for each CPU that the process
// may use, unless other programs keep these CPUs busy. Each operation waits for its slowest thread, so fewer threads
// are faster then, and a short measurement chooses their number. A quota of CPU time is not measured: it is part of
// default_num_threads (training/determinism.h).

struct ThreadChoice {
  int64_t num_threads = 1;
  std::string reason;  // what was measured, for the log
};

// Units of work a second, by number of threads up to the given one; nothing if there is nothing to choose.
using MeasureSpeeds = std::function<std::map<int64_t, double>(int64_t most_threads)>;

// Units of work a second, by number of threads: of `most_threads`, half of them, and so on to 1. Each operation is cut
// into equal parts of a tenth of a millisecond. The slowest of six turns counts, because threads that wait for each
// other are fast in some moments. Takes a tenth of a second for each number, and leaves the number of threads at 1.
// Empty if `most_threads` is 1, or if OMP_NUM_THREADS is set, which is a choice of the user.
std::map<int64_t, double> measure_speeds(int64_t most_threads);

// The fastest number, if it is at least twice as fast as the most threads.
std::optional<ThreadChoice> choose_num_threads(const std::map<int64_t, double>& speeds);

struct FastestLayer {
  LayerKind kind;
  std::vector<std::string> notes;  // "layer: auto took fused, by the time of a pass: hoisted 1.32 ms, fused 912 us"
};

// Those that neither the options nor the processor rule out, the one that usually is the fastest first. Not persistent
// in fp32, where small factors have fewer digits, nor for rnn_relu in tf32, whose states may overflow float16
// (docs/persistent.md): that is for who asks for it.
std::vector<LayerKind> candidates(const RecurrentOptions& options, Precision precision, Processor processor);

// Seconds of a pass with this kind of layer, the shortest of a few. Whatever it throws leaves the kind out, but for
// what is not about the kind: InvariantError, and UserErrors of data and signals.
using MeasureLayer = std::function<double(LayerKind)>;

// Of those that can, timed in rounds, so that what else the machine does meets all of them. Among kinds whose shortest
// times differ by less than the rounds of one kind do, the first of `kinds` is taken, so that equal work gets equal
// layers. The error of the last one where none can.
FastestLayer fastest_of(const std::vector<LayerKind>& kinds, const MeasureLayer& measure);

// What was taken before for the same work: all runs of a sweep that differ in seeds, or in what does not touch the
// layer, get the same one.
class AutoLayers {
 public:
  // The device of `experiment` is a definite one.
  std::optional<LayerKind> taken_for(const Experiment& experiment) const;
  void remember(const Experiment& experiment, LayerKind kind);

 private:
  std::map<std::string, LayerKind> taken_;  // by the settings that count
};

// What follows the layer's name in a refusal: of "layer: hoisted cannot do ...", "cannot do ...".
std::string without_layer(const std::string& reason, std::string_view layer);

// Builds a model of the kind on the device and times it; nothing of it stays.
MeasureLayer measure_training(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options);

}  // namespace rnnlab
