// Which of the kernels for a pass (kernel_plan.h) is done first on a GPU, compiled and loaded: found once for each kind
// of pass, batch size and GPU of the process.
#pragma once

#include "recurrent/kernels/persistent/kernel_plan.h"
#include "recurrent/kernels/persistent/loaded_kernels.h"

namespace rnnlab::kernels::persistent {

struct ChosenPass {
  KernelPlan plan;
  LoadedKernels loaded;
  int groups_at_once = 0;  // as the GPU has room for when it has nothing else to do
  int groups_apart = 0;    // the same, where each block has an SM of its own
};

// Of the current GPU; stays valid. std::runtime_error with a clear message where it has room for no group.
const ChosenPass& chosen_pass(const PersistentSequence& sequence, PassKind pass);

// `attributes`: out, what the result points to. A group of blocks that are no cluster waits for each other, so that all
// launched groups must run at once.
struct LaunchAttributes {
  cudaLaunchAttribute of[2];
};
cudaLaunchConfig_t launch_config(const KernelPlan& plan, int64_t groups, cudaStream_t stream,
                                 LaunchAttributes& attributes);

}  // namespace rnnlab::kernels::persistent
