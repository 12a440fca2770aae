// SPDX-License-Identifier: Apache-2.0
// Computes the least memory of a run from its settings, so that a run that cannot fit is rejected before data are
// loaded or a model is made. Every number is a lower bound that saturates instead of overflowing.
//
// Included: the samples (load_dataset.h), float32 weights, their gradients, the optimiser's tensors, and the tensors
// that a step must keep: the batch, the outputs of every recurrent or pooling layer, and the logits of a language
// model. Left out: the memory of LibTorch, CUDA and cuDNN (0.3 to 2 GiB), gates and work spaces of layers, copies while
// data are read, and checkpoints. So a run within its estimate may still run out of memory, but a rejected run always
// would.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "base/system/machine.h"
#include "data/dataset.h"
#include "runs/experiment.h"

namespace rnnlab {

enum class Purpose { kTraining, kInference };

// All members are in bytes.
struct MemoryEstimate {
  int64_t data = 0;
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;  // of one step
  Placement placement = Placement::kAutomatic;
  bool is_data_a_file = false;  // that is read whole and freed before the model is made

  // Returns the bytes on the device that computes. Gradients are allocated when activations are freed, so the larger of
  // the two counts.
  int64_t on_device(c10::Device device) const;

  // Returns the bytes on the host: on_device() if the device is a CPU; otherwise the larger of data and weights, which
  // need not exist at the same time.
  int64_t on_host(c10::Device device) const;
};

// The first function needs only the settings of the data, before loading; the second needs their known shape and bytes.
MemoryEstimate estimate_memory(const Experiment& experiment, Purpose purpose);
struct DataSize {
  DataShape shape;
  int64_t bytes = 0;
  int64_t num_samples = 0;  // of the part from which batches are made
};
DataSize size_of(const Dataset& dataset);
MemoryEstimate estimate_memory(const Experiment& experiment, Purpose purpose, const DataSize& data);

// Estimates one layer that is timed alone, as `rnnlab bench` does.
MemoryEstimate estimate_memory(const RecurrentOptions& options, int64_t num_steps, int64_t batch_size,
                               Precision precision);

// Returns the parts that are not 0: "data 1.20 MiB, weights 4.00 KiB".
std::string parts_text(const MemoryEstimate& estimate);

// The keys to reduce if an estimate is too large, one for each of its parts, and what to do about the data.
struct MemoryAdvice {
  std::string data_key = "data.num_train";
  std::string data_advice = "use fewer or shorter samples";
  std::string weights_key = "model.hidden_size";
  std::string activations_key = "training.batch_size";
};
MemoryAdvice memory_advice(const Experiment& experiment, Purpose purpose);

// Throws UserError kDevice if the estimate exceeds a hard limit of the host, or of the GPU `device`. Returns warnings
// if the estimate exceeds the memory that is free now. The limits are those of this machine; tests pass their own.
std::vector<std::string> check_memory(const MemoryEstimate& estimate, const MemoryAdvice& advice, c10::Device device);
std::vector<std::string> check_memory(const MemoryEstimate& estimate, const MemoryAdvice& advice, c10::Device device,
                                      const MemoryLimits& host, const MemoryLimits& gpu);

// Returns the memory of the GPU; no limits on a CPU.
MemoryLimits device_memory_limits(c10::Device device);

}  // namespace rnnlab
