// SPDX-License-Identifier: Apache-2.0
// `layer: auto`: times every kind that supports the experiment on its own work, and chooses the fastest. A kind that
// cannot start, has no code for this GPU, or runs out of memory is left out with a note, and never ends the run. Kinds
// that are earlier steps towards fused_pointwise or persistent are timed only if all others fail, because the later
// steps include their optimisations. A measurement is forward and backward over the first batch, as training will run
// it: as a CUDA graph if the experiment asks for graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/layer_kind.h"
#include "runs/experiment.h"
#include "train/loop/trainer.h"

namespace rnnlab {

// Returns the first batch of the training samples in their own order, to examine the work before training. The batch is
// on options.device, and has the training's batch size, or all samples if they are fewer.
Batch first_batch(const Samples& train, const TrainerOptions& options);

// The number of threads of an operation on the CPU if training.num_threads is not set: one for each CPU that the
// process may use, unless other programs keep these CPUs busy. Each operation waits for its slowest thread, so fewer
// threads are then faster, and a short measurement chooses their number. A quota of CPU time is not measured:
// default_num_threads (train/loop/determinism.h) takes it into account.
struct ThreadChoice {
  int64_t num_threads = 1;
  std::string reason;  // the result of the measurement, for the log
};

// Returns units of work a second by number of threads, up to `most_threads`; empty if there is no choice.
using MeasureSpeeds = std::function<std::map<int64_t, double>(int64_t most_threads)>;

// Measures units of work a second for `most_threads` threads, half of them, and so on to 1. Each operation is cut into
// equal parts of a tenth of a millisecond. The slowest of six turns counts, because threads that wait for each other
// are sometimes fast by chance. Takes a tenth of a second for each number, and leaves the number of threads at 1.
// Returns an empty map if `most_threads` is 1, or if OMP_NUM_THREADS is set, because the user has then chosen.
std::map<int64_t, double> measure_speeds(int64_t most_threads);

// Returns the fastest number of threads if it is at least twice as fast as the largest number; else nothing.
std::optional<ThreadChoice> choose_num_threads(const std::map<int64_t, double>& speeds);

// Returns whether the experiment leaves its number of threads to this choice: the key is not set, and processes do not
// divide the CPUs by another rule (experiment_for_rank).
bool has_default_threads(const Experiment& experiment);

// Returns whether the experiment also trains on a CPU, so that its number of threads affects its time.
bool chooses_num_threads(const Experiment& experiment);

struct FastestLayer {
  LayerKind kind;
  std::vector<std::string> notes;  // "layer: auto chose fused, by the time of a pass: hoisted 1.32 ms, fused 912 us"
};

// Returns the seconds of a pass with this kind of layer, the shortest of a few passes. If the function throws, the kind
// is left out, unless the exception is not about the kind: InvariantError, and UserErrors of data and signals.
using MeasureLayer = std::function<double(LayerKind)>;

// Returns the fastest kind. The kinds are timed in rounds, so that other load of the machine affects all of them. Among
// kinds whose shortest times differ by less than the rounds of one kind, the first in `kinds` is chosen, so that equal
// work gets equal layers. If all kinds fail, throws the error of the last.
FastestLayer fastest_of(const std::vector<LayerKind>& kinds, const MeasureLayer& measure);

// Remembers earlier choices for the same work: all runs of a sweep that differ only in seeds, or in settings that do
// not affect the layer, get the same kind.
class AutoLayers {
 public:
  // The device of `experiment` must not be "auto".
  std::optional<LayerKind> find_choice(const Experiment& experiment) const;
  void remember(const Experiment& experiment, LayerKind kind);

 private:
  std::map<std::string, LayerKind> taken_;  // by the settings that affect the layer
};

// Returns a reason without the layer's name: "does not support ..." for "layer: hoisted does not support ...".
std::string without_layer(const std::string& reason, std::string_view layer);

// Returns a function that builds a model of the kind on the device, times it and destroys it.
MeasureLayer measure_training(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options);

}  // namespace rnnlab
