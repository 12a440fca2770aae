// SPDX-License-Identifier: Apache-2.0
// Converts a run's state to a checkpoint and back; state.json holds everything except the tensors. A checkpoint
// suffices to use the model, because it has the settings and the facts about the data that the model needs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "layers/parameters.h"
#include "results/checkpoint/checkpoint.h"
#include "results/environment.h"
#include "results/summary.h"
#include "runs/experiment.h"
#include "train/loop/snapshot.h"
#include "train/weights/network_weights.h"

namespace rnnlab {

// Holds the facts that do not change during a run.
struct RunFacts {
  Experiment experiment;  // as it runs, with the choices of "auto"
  Identity identity;
  SoftwareVersions software;
  FittedData data;
  std::vector<Warning> warnings = {};  // of all parts of the run so far
};

struct SavedRun {
  RunFacts facts;
  Snapshot snapshot;
};

// Returns the function of the model's recurrent layers; nothing if it has none.
LayoutMetadata function_of(const Experiment& experiment);

// Returns the metadata of the file with the weights: their function, and the values of categories.
TensorMetadata weights_metadata(const Experiment& experiment, const FittedData& data);

CheckpointContents contents_of(const RunFacts& facts, Snapshot snapshot);

// Verifies and reads the checkpoint folder. Throws UserError kCheckpoint if the checkpoint is damaged, or of an unknown
// version.
SavedRun read_saved_run(const std::filesystem::path& checkpoint);

// Checks that the saved tensors are those of a model and its optimiser. Throws UserError kCheckpoint with `file` and
// the first tensor that differs.
void require_same_tensors(const std::vector<NamedTensor>& saved, const std::vector<NamedTensor>& wanted,
                          const std::string& file);
void require_same_tensors(const std::vector<NamedTensor>& saved, const std::vector<ParameterSpec>& wanted,
                          const std::string& file);

}  // namespace rnnlab
