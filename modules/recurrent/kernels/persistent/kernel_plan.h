// The kernels that a pass may take, as the host knows them: what they are called, how they are launched, and what a
// step takes. Their code is compiled when one is chosen (chosen_pass.h).
#pragma once

#include <string>
#include <vector>

#include "recurrent/kernels/persistent/passes.h"
#include "recurrent/kernels/persistent/persistent_layer.h"

namespace rnnlab::kernels::persistent {

// What a kernel has of shared memory besides what it is launched with, at most.
constexpr int kSharedOfKernels = 1024;

enum class PassKind { kForward, kBackward };

// What instructions a kernel is made of: those of every GPU with clusters, or wgmma, which compute capability 9.0 alone
// has.
enum class Instructions { kClusters, kWgmma };

// A group of blocks computes all steps for a group of sequences.
struct KernelPlan {
  std::string source, kernel, packing;  // a program, and the names in it of the pass and of what packs its weights
  Instructions instructions = Instructions::kClusters;
  int num_sequences = 0;  // of a group
  int num_blocks = 0;     // of a group
  int cluster_size = 0;   // blocks: a whole group, or of kWgmma a part of one
  int num_threads = 0;    // of a block
  int shared_bytes = 0;   // of a block
  // The same, where groups are counted: all that a block may have, if each block should find a multiprocessor of its
  // own.
  int counted_shared_bytes = 0;
  size_t packed_bytes = 0;
  size_t exchange_bytes = 0;  // of a group
  int empty_byte = 0;         // that its exchange begins with
  double cost = 0;            // of a round of groups, against those of the other plans
};

// What a GPU may run.
struct GpuClass {
  Instructions instructions = Instructions::kClusters;
  int shared_bytes = 0;  // of a block
};

// In each list of equal cost the first is preferred. A pass takes one of `grids` if the GPU has room for a group.
struct PassPlans {
  std::vector<KernelPlan> grids;     // of kWgmma; empty where clusters are faster
  std::vector<KernelPlan> clusters;  // empty above kLargestOfClusters
};

// std::invalid_argument where there are no kernels for such a pass.
PassPlans plans_for(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu);

// Every plan for passes on such a GPU, once.
std::vector<KernelPlan> all_plans(const GpuClass& gpu);

}  // namespace rnnlab::kernels::persistent
