// The kernels that a pass may take, as the host knows them: their names, how they are launched, and what a step of each
// costs. This file leaves out their code, which is compiled when a kernel is chosen (persistent_layer.cpp).
#pragma once

#include <string>
#include <vector>

#include "recurrent/kernels/persistent/shared/passes.h"

namespace rnnlab::kernels::persistent {

enum class PassKind { kForward, kBackward };

// The instructions that a kernel needs: those of every GPU with clusters (kernels in cluster/), or also wgmma, which
// only compute capability 9.0 has (kernels in grid/).
enum class Instructions { kClusters, kWgmma };

// A group of blocks computes all steps for a group of sequences.
struct KernelPlan {
  std::string source;           // a program with the next two kernels
  std::string kernel, packing;  // their names: of the pass, and of what packs its weights
  Instructions instructions = Instructions::kClusters;
  int num_sequences = 0;  // of a group
  int num_blocks = 0;     // of a group
  int cluster_size = 0;   // in blocks: a whole group, or with kWgmma a part of one
  int num_threads = 0;    // of a block
  int shared_bytes = 0;   // of a block
  // What stands for shared_bytes when the groups that run at once are counted: all that a block may have, if each block
  // should find a multiprocessor of its own.
  int counted_shared_bytes = 0;
  size_t packed_bytes = 0;
  size_t exchange_bytes = 0;  // of a group
  int empty_byte = 0;         // what its exchange is filled with before a launch
  double cost = 0;            // the time of a round of groups, relative to the other plans of the same list
};

// What a GPU can run.
struct GpuClass {
  Instructions instructions = Instructions::kClusters;
  int shared_bytes = 0;  // of a block
};

// A pass takes a plan of `grids` if the GPU has room for a group of one, else a plan of `clusters`. Of plans that cost
// the same, the first in the list is taken.
struct PassPlans {
  std::vector<KernelPlan> grids;     // of kWgmma; empty where clusters are faster
  std::vector<KernelPlan> clusters;  // empty above kLargestOfClusters
};

// std::invalid_argument if there are no kernels for such a pass.
PassPlans plans_for(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu);

// Every plan for passes on such a GPU, once.
std::vector<KernelPlan> all_plans(const GpuClass& gpu);

}  // namespace rnnlab::kernels::persistent
