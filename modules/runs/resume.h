// SPDX-License-Identifier: Apache-2.0
// Resumes a run in its folder from its newest valid checkpoint, or from the beginning if it was stopped before the
// first checkpoint. In deterministic mode the run ends with the weights and the log of a run that was never stopped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runs/run.h"
#include "runs/run_checkpoint.h"
#include "train/loop/trainer.h"

namespace rnnlab {

// Checks that training can continue from a checkpoint, because a checksum does not protect against a forged one.
// Restores the states of LibTorch's generators. Throws UserError kCheckpoint.
void require_resumable(const SavedRun& saved, const Trainer& trainer, c10::Device device,
                       const std::filesystem::path& checkpoint);

// Throws UserError kUsage if one of these overrides, "key=value", has a key that may not change.
void require_changeable_keys(const std::vector<std::string>& overrides);

// Returns the settings in a run's config.yaml, with the overrides, and with the paths beside it. Throws UserError
// kUsage with all findings.
Experiment settings_of_run(const std::filesystem::path& run_folder, const std::vector<std::string>& overrides = {});

// Returns "training.batch_size was 32 and is 64" for each setting that differs and may not change on a resume.
std::vector<std::string> changes_against_resume(const Experiment& before, const Experiment& wanted);

// Returns what the user can do to train longer than a run that ended for this reason. `training` has the bounds that
// the run has reached.
std::string how_to_train_on(StopReason reason, const TrainingSettings& training);

// Returns false also if the checkpoints cannot be listed; that error is reported when the run is resumed.
bool has_checkpoint(const std::filesystem::path& run_folder);

// `overrides` have the form of the command line, for keys that may change (config::Change::kOnResume). Throws UserError
// kUsage if a different setting changed (config.yaml was edited), kCheckpoint if no checkpoint is valid or the data
// changed, kDevice (or kAtWorkElsewhere, RunRequest::when_taken) if another process works in the folder, and the errors
// of run_experiment.
RunOutcome resume_experiment(const std::filesystem::path& run_folder, const std::vector<std::string>& overrides,
                             const RunRequest& request, Logger& logger);

// If the run needs several processes (run_ranks.h) and no launcher has started them, starts them and waits for their
// end. Otherwise returns nothing.
std::optional<RunOutcome> resume_by_ranks(const std::filesystem::path& run_folder,
                                          const std::vector<std::string>& overrides, const RunRequest& request);

}  // namespace rnnlab
