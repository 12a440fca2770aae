// SPDX-License-Identifier: Apache-2.0
// The kernels that a pass may take, as the host knows them: their names, how they are launched, and what a step of each
// costs. This file leaves out their code, which is compiled when a kernel is chosen (persistent_layer.cpp).
#pragma once

#include <string>
#include <vector>

#include "layers/persistent/shared/passes.h"

namespace rnnlab::kernels::persistent {

enum class PassKind { kForward, kBackward };

// The instructions that a kernel needs: those of compute capability 8.0 and later (kernels in block/, and those in
// grid/ by mma.sync), those of every GPU with clusters (kernels in cluster/), or also wgmma, which only compute
// capability 9.0 has (kernels in grid/ by wgmma).
enum class Instructions { kTensorCores, kClusters, kWgmma };

// Returns whether groups of one block are among the kernels.
constexpr bool has_blocks(PersistentKernels kernels) {
  return kernels == PersistentKernels::kBlocks || kernels == PersistentKernels::kAll;
}

// A group of blocks computes all steps for a group of sequences.
struct KernelPlan {
  std::string source;           // a program with the next two kernels
  std::string kernel, packing;  // their names: of the pass, and of what packs its weights
  Instructions instructions = Instructions::kClusters;
  int num_sequences = 0;  // of a group
  int num_blocks = 0;     // of a group
  int cluster_size = 0;   // in blocks: a whole group, or of kernels in grid/ a part of one
  int num_threads = 0;    // of a block
  int shared_bytes = 0;   // of a block
  // Replaces shared_bytes when the groups that run at once are counted: all shared memory that a block may have, if
  // blocks must not share a multiprocessor.
  int counted_shared_bytes = 0;
  size_t packed_bytes = 0;
  size_t exchange_bytes = 0;  // of a group
  int empty_byte = 0;         // the value of all bytes of its exchange before a launch
  double cost = 0;            // the time of a round of groups, relative to the other plans of the same list
};

// Describes what a GPU can run.
struct GpuClass {
  Instructions instructions = Instructions::kClusters;
  int shared_bytes = 0;  // of a block
};

// A pass uses a plan of `grids` if a group of a plan fits on the GPU, otherwise a plan of `clusters`. Of plans with
// equal costs, the first in the list is used.
struct PassPlans {
  std::vector<KernelPlan> grids;     // of kernels in grid/; empty if clusters are faster
  std::vector<KernelPlan> clusters;  // also groups of one block; empty above kLargestOfClusters
};

// Returns whether the blocks of a group exchange data through L2, as those of kernels in grid/ do.
inline bool is_grid(const KernelPlan& plan) { return plan.exchange_bytes > 0; }

// Returns whether a group is one block, as those of kernels in block/ are.
inline bool is_block(const KernelPlan& plan) {
  return !is_grid(plan) && plan.instructions == Instructions::kTensorCores;
}

// Returns whether two such layers, one above the other, run faster as a pair (PersistentPairForward) if none of their
// steps would overlap otherwise.
bool has_pair(const PersistentSequence& sequence, const GpuClass& gpu);

// Returns whether the kernel of a forward pass computes W x of its layer's inputs itself, by StepInputs::kNarrow.
bool multiplies_inputs(const PersistentSequence& sequence, int64_t input_size, const GpuClass& gpu);

// Returns whether a pass of this plan can also write gates' gradients as float16 with exponents.
inline bool may_write_half(const PersistentSequence& sequence, PassKind pass, const KernelPlan& plan) {
  return pass == PassKind::kBackward && sequence.type == ElementType::kFloat32 &&
         sequence.operands == Operands::kTf32 && sequence.num_layers == 1 && !is_block(plan);
}

// Returns the plan of that pass, whose kernel has kWritesHalf as its last template argument.
inline KernelPlan writing_half(KernelPlan plan) {
  plan.kernel.insert(plan.kernel.size() - 1, ", true");
  return plan;
}

// Returns the plans of a pass, as if it did not write float16 with exponents. Throws std::invalid_argument if the pass
// has no kernels.
PassPlans plans_for(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu);

// Returns every plan for passes of a cell on such a GPU, once.
std::vector<KernelPlan> all_plans(const GpuClass& gpu, const PersistentProgram& program);

}  // namespace rnnlab::kernels::persistent
