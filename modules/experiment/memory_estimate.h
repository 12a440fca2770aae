// What a run takes of memory at least, by formulas over its settings, so that one that cannot fit is refused before
// data are loaded or a model is made. Every number is a lower bound that saturates instead of overflowing.
//
// Included: the samples (data_size.h), float32 weights, their gradients, the optimiser's tensors, and what a step must
// keep: the batch, the outputs of every recurrent or pooling layer, and the logits of a language model. Left out: what
// LibTorch, CUDA and cuDNN take themselves (0.3 to 2 GiB), gates and work spaces of layers, copies while data are read,
// and checkpoints. So a run within its estimate may still run out of memory, and one that is refused always would.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "data/dataset.h"
#include "experiment/experiment.h"
#include "system/machine.h"

namespace rnnlab {

enum class Purpose { kTraining, kInference };

// Bytes.
struct MemoryEstimate {
  int64_t data = 0;
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;  // of one step
  Placement placement = Placement::kAutomatic;
  bool is_data_a_file = false;  // that is read whole, and gone before there is a model

  // On the device that computes. Gradients come when activations go, so the larger of the two counts.
  int64_t on_device(c10::Device device) const;

  // On the host: the same on a CPU. With a GPU, the data and the weights, which need not be there at once.
  int64_t on_host(c10::Device device) const;
};

// Before the data are loaded, from what the settings say of them; and once their shape and bytes are known.
MemoryEstimate estimate_memory(const Experiment& experiment, Purpose purpose);
struct DataSize {
  DataShape shape;
  int64_t bytes = 0;
  int64_t num_samples = 0;  // of the part that makes batches
};
MemoryEstimate estimate_memory(const Experiment& experiment, Purpose purpose, const DataSize& data);

// Of one layer by itself that is timed, as `rnnlab bench` does.
MemoryEstimate estimate_memory(const RecurrentOptions& options, int64_t num_steps, int64_t batch_size,
                               Precision precision);

// The keys to reduce where an estimate is too large, one of each of its parts.
struct MemoryAdvice {
  std::string data_key = "data.num_train";
  std::string weights_key = "model.hidden_size";
  std::string activations_key = "training.batch_size";
};
MemoryAdvice memory_advice(const Experiment& experiment, Purpose purpose);

// UserError kDevice where the estimate is beyond a hard limit of the host, or of the GPU `device`; what is beyond the
// memory that is free now comes back as warnings. Limits are those of this machine, others in tests.
std::vector<std::string> check_memory(const MemoryEstimate& estimate, const MemoryAdvice& advice, c10::Device device);
std::vector<std::string> check_memory(const MemoryEstimate& estimate, const MemoryAdvice& advice, c10::Device device,
                                      const MemoryLimits& host, const MemoryLimits& gpu);

// The memory of the GPU; no limits on a CPU.
MemoryLimits device_memory_limits(c10::Device device);

}  // namespace rnnlab
