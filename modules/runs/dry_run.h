// SPDX-License-Identifier: Apache-2.0
// Prepares a run as run_experiment does, trains a few batches of it, and estimates the memory and the time of the whole
// run. Makes no run folder and writes no file of a run; libraries may still store compiled kernels in their caches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/logger.h"
#include "runs/experiment.h"
#include "runs/memory_estimate.h"

namespace rnnlab {

// In bytes.
struct DryRunMemory {
  MemoryEstimate least = {};  // that the run needs
  int64_t on_host = 0;
  std::optional<int64_t> on_gpu = {};         // nothing on a CPU
  std::optional<int64_t> measured_peak = {};  // of the dry run: LibTorch's on a GPU, else that of the process

  RNNLAB_FIELDS(named("data_bytes", least.data), named("weights_bytes", least.weights),
                named("gradients_bytes", least.gradients), named("optimizer_bytes", least.optimizer),
                named("activations_bytes", least.activations), named("on_host_bytes", on_host),
                named("on_gpu_bytes", on_gpu), named("measured_peak_bytes", measured_peak))
};

// All times are in seconds. Those of an epoch and of the run are estimates from one step and one validation batch.
struct DryRun {
  std::string name = {};
  std::string label = {};  // of the case in a sweep; "" if there is only one case
  int64_t num_cases = 1;
  int64_t num_runs = 1;  // with repeats
  std::string device = {};
  std::string layer = {};
  std::string precision = {};
  std::string path = {};                // the code that runs (execution_path.h)
  std::vector<std::string> notes = {};  // on the layer, the path and CUDA graphs
  DryRunMemory memory = {};
  int64_t batch_size = 0;
  int64_t batches_per_step = 1;
  int64_t steps_per_epoch = 0;
  std::optional<int64_t> num_steps = {};   // of the run; nothing if only time bounds it
  std::optional<double> max_seconds = {};  // training.max_seconds
  bool may_end_early = false;              // early stopping, or training.stop_at
  double first_step_seconds = 0;
  double step_seconds = 0;
  double epoch_train_seconds = 0;                  // without validation, as in results
  std::optional<double> epoch_valid_seconds = {};  // nothing without validation data
  std::optional<double> run_seconds = {};          // nothing if nothing bounds the run

  // Returns the seconds of all runs of the command if each takes as long as this one.
  std::optional<double> all_runs_seconds() const {
    return run_seconds ? std::optional(*run_seconds * static_cast<double>(num_runs)) : std::nullopt;
  }

  RNNLAB_FIELDS(name, named("case", label), num_cases, num_runs, device, layer, precision, path, notes, memory,
                batch_size, batches_per_step, steps_per_epoch, num_steps, max_seconds, may_end_early,
                first_step_seconds, step_seconds, named("estimated_epoch_train_seconds", epoch_train_seconds),
                named("estimated_epoch_valid_seconds", epoch_valid_seconds),
                named("estimated_run_seconds", run_seconds), named("estimated_seconds_of_all_runs", all_runs_seconds()))
};

// Logs the opening of the run (opening.h) without a folder. The experiment must be trained by one process. Throws the
// UserErrors of run_experiment.
DryRun dry_run(const Experiment& experiment, const std::vector<std::string>& command_line, Logger& logger);

// Returns the lines that follow the log, for people.
std::string dry_run_text(const DryRun& outcome);
std::string dry_run_json(const DryRun& outcome);

}  // namespace rnnlab
