// A run that goes on in its folder from its newest checkpoint that verifies, or from the beginning where it was stopped
// before the first: in a deterministic mode it ends with the weights and the log of a run that was never stopped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/run_checkpoint.h"
#include "experiment/run_experiment.h"
#include "training/trainer.h"

namespace rnnlab {

// Checks that training can continue from a checkpoint. A checksum does not protect against a forged one. Restores the
// states of LibTorch's generators. UserError kCheckpoint.
void require_resumable(const SavedRun& saved, const Trainer& trainer, c10::Device device,
                       const std::filesystem::path& checkpoint);

// UserError kUsage where one of these, "key=value", is of a key that may not change.
void refuse_other_overrides(const std::vector<std::string>& overrides);

// `overrides` as on a command line, of what may change: bounds (training.epochs, max_steps, max_seconds), `devices`,
// `checkpoint`, and where the data lie. UserError kUsage where another setting changed (config.yaml was edited),
// kCheckpoint where no checkpoint verifies or the data are others, kDevice where another process is at work in the
// folder, and what run_experiment throws.
RunOutcome resume_experiment(const std::filesystem::path& run_folder, const std::vector<std::string>& overrides,
                             const RunRequest& request, Logger& logger);

// Where the run needs several processes (run_ranks.h) and no launcher has started them: starts them, and waits for
// their end. Nothing where it does not.
std::optional<RunOutcome> resume_by_ranks(const std::filesystem::path& run_folder,
                                          const std::vector<std::string>& overrides, const RunRequest& request);

}  // namespace rnnlab
