// SPDX-License-Identifier: Apache-2.0
// The checkpoints of one run, <run>/checkpoints/step-000123, and best.json, which names one of them. The newest
// checkpoint is determined by steps and verification, not by a clock or by a file that could be outdated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "results/checkpoint/checkpoint.h"

namespace rnnlab {

struct CheckpointPlace {
  int64_t step = 0;
  std::filesystem::path path;

  bool operator==(const CheckpointPlace&) const = default;
};

// Returns the checkpoints by step, the oldest first; empty if the folder is missing. No checkpoint is verified. Throws
// UserError kDevice if the folder cannot be read.
std::vector<CheckpointPlace> list_checkpoints(const std::filesystem::path& folder);

struct LatestCheckpoint {
  std::optional<CheckpointPlace> place;  // the newest checkpoint that verifies
  std::vector<std::string> notes;        // for each newer checkpoint, why it does not verify
};

LatestCheckpoint latest_checkpoint(const std::filesystem::path& folder);

// Returns the checkpoint marked as best, which may no longer verify; nullopt if there is no mark. Throws UserError
// kCheckpoint if the mark is damaged or its checkpoint is missing.
std::optional<CheckpointPlace> best_checkpoint(const std::filesystem::path& folder);

// Marks the best checkpoint, atomically and durably. The checkpoint of that step must exist. Throws UserError kDevice.
void mark_best_checkpoint(const std::filesystem::path& folder, int64_t step);

// Removes checkpoints that are older than the newest `keep` up to step `newest`, which was just saved. Three kinds are
// always kept: the best checkpoint, the first checkpoint older than `newest` that verifies, and all checkpoints between
// this one and `newest`, because their failure to verify may be temporary. Checkpoints of later steps, which exist if
// the run restarted from an earlier step, are not removed. Throws UserError kDevice, or kCheckpoint if the mark of the
// best is damaged: then nothing is removed.
void prune_checkpoints(const std::filesystem::path& folder, int64_t newest, int64_t keep);

enum class CheckpointKind { kOrdinary, kBest };

// Saves checkpoints on a background thread, one at a time and in order: submit() returns before the checkpoint is
// saved. If no thread can be created, submit() saves and then returns. Use the writer from one thread.
class CheckpointWriter {
 public:
  // `folder` holds the checkpoints of the run. `keep`, at least 1, is passed to prune_checkpoints.
  CheckpointWriter(std::filesystem::path folder, int64_t keep);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits for the previous save. If the previous save failed, its error is thrown and this checkpoint is not saved.
  // Then a background thread calls `contents`, saves the result, marks the best and removes old checkpoints. The data
  // that `contents` reads must not change before it has returned.
  void submit(int64_t step, std::function<CheckpointContents()> contents, CheckpointKind kind);

  // Waits until the last submitted checkpoint is durable. Throws its error, once. If wait() is not called, the
  // destructor waits and an error is lost.
  void wait();

 private:
  std::filesystem::path folder_;
  int64_t keep_;
  std::future<void> pending_;
};

}  // namespace rnnlab
