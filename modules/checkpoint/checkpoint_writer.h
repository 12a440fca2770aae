// Saves checkpoints on a thread of its own, one at a time and in order: the caller goes on as soon as it has handed
// over the contents. If no thread can be made, submit() saves and then returns. To be used from one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>

#include "checkpoint/checkpoint.h"

namespace rnnlab {

enum class Standing { kOrdinary, kBest };

class CheckpointWriter {
 public:
  // `folder`: of the run's checkpoints; `keep`: see prune_checkpoints, at least 1.
  CheckpointWriter(std::filesystem::path folder, int64_t keep);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits for the save before, whose error it throws instead of taking this one; then makes the contents, saves them,
  // marks the best and removes old ones behind the caller's back. What they are made of must not change until then.
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
