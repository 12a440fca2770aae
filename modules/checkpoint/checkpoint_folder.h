// The checkpoints of one run side by side, <run>/checkpoints/step-000123, and best.json, which names one of them.
// Which is newest is told by their steps and by verifying them, by no clock and no file that could be out of date.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace rnnlab {

struct CheckpointPlace {
  int64_t step = 0;
  std::filesystem::path path;

  bool operator==(const CheckpointPlace&) const = default;
};

// By step, the oldest first; none where the folder is missing. Nothing is verified. UserError kCheckpoint where the
// folder cannot be read.
std::vector<CheckpointPlace> list_checkpoints(const std::filesystem::path& folder);

struct LatestCheckpoint {
  std::optional<CheckpointPlace> place;  // the newest that verifies
  std::vector<std::string> notes;        // why each newer one does not
};

LatestCheckpoint latest_checkpoint(const std::filesystem::path& folder);

// The marked one, which may no longer verify; nothing where none was marked. UserError kCheckpoint where the mark is
// damaged or the checkpoint that it names is gone.
std::optional<CheckpointPlace> best_checkpoint(const std::filesystem::path& folder);

// Atomically and durably. The checkpoint of that step must be there. UserError kDevice.
void mark_best_checkpoint(const std::filesystem::path& folder, int64_t step);

// Removes what is older than the newest `keep` up to step `newest`, which was just saved. Always stay: the best, one
// older than `newest` that verifies, and what lies between these two, for it may only be unreadable today. Those of
// later steps, from before a return to an earlier one, are left alone.
// UserError kDevice, or kCheckpoint where the mark of the best is damaged: nothing is removed then.
void prune_checkpoints(const std::filesystem::path& folder, int64_t newest, int64_t keep);

// Saves checkpoints on a thread of its own, one at a time and in order: the caller goes on as soon as it has handed
// over the contents. If no thread can be made, submit() saves and then returns. To be used from one thread.

enum class Standing { kOrdinary, kBest };

class CheckpointWriter {
 public:
  // `folder`: of the run's checkpoints; `keep`: see prune_checkpoints, at least 1.
  CheckpointWriter(std::filesystem::path folder, int64_t keep);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits for the save before, whose error it throws instead of taking this one; then makes the contents, saves them,
  // marks the best and removes old ones on a background thread. What they are made of must not change until then.
  void submit(int64_t step, std::function<CheckpointContents()> contents, Standing standing);

  // Until the last submitted one is durable. Throws what went wrong, once. Without it, the destructor waits and an
  // error is lost.
  void wait();

 private:
  std::filesystem::path folder_;
  int64_t keep_;
  std::future<void> pending_;
};

}  // namespace rnnlab
