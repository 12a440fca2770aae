#include "checkpoint/checkpoint_writer.h"

#include <system_error>

#include "base/error.h"
#include "checkpoint/checkpoint_folder.h"

namespace rnnlab {

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, int64_t keep)
    : folder_(std::move(folder)), keep_(keep) {
  RNNLAB_INVARIANT(keep >= 1, "fewer than one checkpoint to keep");
}

void CheckpointWriter::submit(int64_t step, std::function<CheckpointContents()> contents, Standing standing) {
  wait();
  const auto save = [this, step, standing, contents = std::move(contents)] {
    save_checkpoint(folder_, step, contents());
    if (standing == Standing::kBest) mark_best_checkpoint(folder_, step);
    prune_checkpoints(folder_, step, keep_);
  };
  try {
    pending_ = std::async(std::launch::async, save);
  } catch (const std::system_error&) {
    save();  // the system refused a thread
  }
}

void CheckpointWriter::wait() {
  if (pending_.valid()) pending_.get();
}

}  // namespace rnnlab
