// Which code a recurrent layer, or a convolution, really ran: LibTorch chooses between cuDNN, oneDNN and loops of its
// own without a word. Found by watching one real training step, not by repeating LibTorch's conditions; only cuDNN's
// algorithm, which nothing reports, is worked out from the call's arguments.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rnnlab {

struct ExecutionPath {
  std::string path;                // "oneDNN rnn ref (training)", "native loop, 8 GEMMs a step"
  std::vector<std::string> notes;  // why a faster path was not taken, and what else is worth knowing
};

// Runs `training_step`, one forward and backward pass through a model, on this thread, and tells the path of its
// recurrent layers and convolutions; where they differ, all of them, separated by "; ". Costs more than a plain step
// (use a warm-up step) and must not run beside threads that print to standard output. Whatever the step throws passes
// through.
ExecutionPath observe_execution_path(const std::function<void()>& training_step);

}  // namespace rnnlab
