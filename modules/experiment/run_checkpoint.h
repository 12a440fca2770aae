// A run's state as a checkpoint, and back: what state.json holds besides the tensors. The checkpoint suffices to use
// the model: its settings, and what it must know of the data, are in it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "data/dataset.h"
#include "experiment/experiment.h"
#include "recurrent/parameters.h"
#include "results/environment.h"
#include "results/summary.h"
#include "training/snapshot.h"

namespace rnnlab {

// What does not change while a run goes on.
struct RunFacts {
  Experiment experiment;  // as it runs, without any "auto"
  Identity identity;
  SoftwareVersions software;
  FittedData data;
  std::vector<Warning> warnings = {};  // of all parts of the run so far
};

struct SavedRun {
  RunFacts facts;
  Snapshot snapshot;
};

CheckpointContents contents_of(const RunFacts& facts, Snapshot snapshot);

// Verifies and reads the checkpoint folder. UserError kCheckpoint where it is damaged, or of another version.
SavedRun read_saved_run(const std::filesystem::path& checkpoint);

// That the tensors are those of a model and its optimiser. UserError kCheckpoint, with `file`, names the first that is
// not.
void require_same_tensors(const std::vector<NamedTensor>& saved, const std::vector<NamedTensor>& wanted,
                          const std::string& file);
void require_same_tensors(const std::vector<NamedTensor>& saved, const std::vector<ParameterSpec>& wanted,
                          const std::string& file);

}  // namespace rnnlab
