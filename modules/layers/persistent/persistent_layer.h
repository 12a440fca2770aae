// SPDX-License-Identifier: Apache-2.0
// A recurrent layer whose recurrent weights stay on the GPU's chip for a whole sequence, for GPUs of compute capability
// 8.0 and later. A pass is one kernel, in which a group of blocks computes all steps for a group of sequences. A small
// layer has groups of one block; larger layers have thread-block clusters, which GPUs have from 9.0 on, or larger
// groups over the whole GPU. The blocks exchange hidden states, or, in the backward pass, sums of gradients: the blocks
// of a cluster through distributed shared memory, larger groups through L2. Products take operands of 16 bits and add
// up in float32. Cell states, activations and gradients of states are float32; only sums on their way through L2 have
// the digits of the class's operands. Left out are the products that do not wait for a step: those of the inputs,
// before a pass, and those for the gradients of weights and inputs, after it. README.md is a map of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/persistent/shared/passes.h"

struct CUstream_st;

namespace rnnlab::kernels {

// Returns the number of rows of PersistentBackward::bias_sums.
inline int64_t bias_sum_rows(int64_t batch_size) { return (batch_size + 3) / 4; }

// Holds the hidden sizes that have kernels: the multiples of 8 from `least` to `most`.
struct HiddenSizes {
  int64_t least = 8;
  int64_t most = kLargestOfBlocks;
};

// Returns the sizes on a GPU that runs all these kernels. For layers of a type other than float32, operands is kTf32.
inline HiddenSizes persistent_sizes(Operands operands, PersistentKernels kernels) {
  if (kernels == PersistentKernels::kBlocks) return {};
  if (kernels != PersistentKernels::kAll) return {kSmallestOfClusters, kLargestOfClusters};
  return {.most = operands == Operands::kTf32 ? kLargestOfGrids : kLargestOfClusters};
}

inline bool has_persistent_layer(int64_t hidden_size, Operands operands, PersistentKernels kernels) {
  const HiddenSizes sizes = persistent_sizes(operands, kernels);
  return hidden_size >= sizes.least && hidden_size <= sizes.most && hidden_size % 8 == 0;
}

// Returns whether two layers of this kind, one above the other, run faster as a pair on the current GPU, by one kernel
// in each direction, than one after the other. The num_layers of their sequences is then 2.
bool has_pair(const PersistentSequence& sequence);

// Returns whether the kernel of a forward pass on the current GPU computes W x of this many inputs itself. The
// sequence's `inputs` are then kNarrow.
bool multiplies_inputs(const PersistentSequence& sequence, int64_t input_size);

// Returns whether the kernel of a backward pass on the current GPU can write gates' gradients as float16
// (PersistentBackward::exponents).
bool writes_half_gradients(const PersistentSequence& sequence);

// Return the bytes of the packed weights of each pass. These functions, like all below that take a sequence, compile
// and load the kernels of the pass if they are not loaded.
size_t forward_weight_bytes(const PersistentSequence& sequence);
size_t backward_weight_bytes(const PersistentSequence& sequence);

// Return the bytes of the memory through which the blocks of a pass exchange data; 0 if they are a cluster. Its content
// does not matter.
size_t forward_exchange_bytes(const PersistentSequence& sequence);
size_t backward_exchange_bytes(const PersistentSequence& sequence);

// Describes the groups of blocks of a pass on the current GPU. A group computes some of the sequences.
struct PersistentGroups {
  int64_t count = 0;
  int num_blocks = 0;  // of a group
  int at_once = 0;     // groups that do not share multiprocessors; the remaining groups run later, or share some
  bool are_clusters = true;
};
PersistentGroups forward_groups(const PersistentSequence& sequence);
PersistentGroups backward_groups(const PersistentSequence& sequence);

// Write the weights to `packed` in the order in which the threads of a pass hold them, rounded to the sequence's type.
void pack_forward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                          CUstream_st* stream);
void pack_backward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                           CUstream_st* stream);

// Returns why kernels cannot be compiled on this machine, as one sentence; std::nullopt if they can.
std::optional<std::string> persistent_kernels_refusal();

// Returns the environment variable RNNLAB_KERNELS_AS, or "" if it is not set. By it tests request kernels that the
// driver compiles from PTX, as it does with code that is older than its GPU. "ptx" requests the kernels of the GPU, and
// a compute capability such as "8.0" requests those of an earlier GPU.
std::string persistent_kernels_as();

// Returns whether the current GPU, or the earlier one that RNNLAB_KERNELS_AS names, has kernels with clusters.
bool has_persistent_clusters();

// Returns the SHA-256 of the kernels' sources, with the cells of the list.
std::string fingerprint_of_persistent_kernels();

// Returns messages to the user about kernels that were compiled since the last call: their number and folder.
std::vector<std::string> take_persistent_notes();

// Run a pass by one launch, or by one launch for each round of groups. Throw std::runtime_error if the GPU cannot run
// it.
void run(const PersistentForward& work, CUstream_st* stream);
void run(const PersistentBackward& work, CUstream_st* stream);
void run(const PersistentPairForward& work, CUstream_st* stream);
void run(const PersistentPairBackward& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
