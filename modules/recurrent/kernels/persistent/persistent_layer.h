// A recurrent layer on a GPU with thread-block clusters whose recurrent weights stay on the chip for a whole sequence:
// one kernel a pass, in which a group of blocks computes all steps for a group of sequences and hands hidden states
// (or, in the backward pass, sums of gradients) around: a cluster through distributed shared memory, or as many blocks
// as it takes through L2. Products take operands of 16 bits and add up in float32; cell states, activations and
// gradients of states are float32, but that sums on their way through L2 have the digits of the class's factors. Leaves
// out the products that wait for no step: those of the inputs before, and the gradients of weights and inputs after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recurrent/kernels/persistent/passes.h"

struct CUstream_st;

namespace rnnlab::kernels {

// Of PersistentBackward::bias_sums.
inline int64_t bias_sum_rows(int64_t batch_size) { return (batch_size + 7) / 8; }

// Whether there are kernels for layers of this size: multiples of 8 from 64 to 1536, to 1024 of kFloat32 and without
// kAll. Layers of other types than float32 have the sizes of kTf32.
inline constexpr int kLargestOfClusters = 1024;
inline constexpr int kLargestOfGrids = 1536;
inline bool has_persistent_layer(int64_t hidden_size, Factors factors, PersistentKernels kernels) {
  const bool has_grids = factors == Factors::kTf32 && kernels == PersistentKernels::kAll;
  return hidden_size >= 64 && hidden_size <= (has_grids ? kLargestOfGrids : kLargestOfClusters) && hidden_size % 8 == 0;
}

// Bytes of the packed weights of each pass. This function, like all below, compiles and loads the kernels of the pass
// where no function before it did.
size_t forward_weight_bytes(const PersistentSequence& sequence);
size_t backward_weight_bytes(const PersistentSequence& sequence);

// Bytes through which the blocks of a pass hand data around; none where they are a cluster. Content does not matter.
size_t forward_exchange_bytes(const PersistentSequence& sequence);
size_t backward_exchange_bytes(const PersistentSequence& sequence);

// The groups of blocks of a pass on the current GPU, each for some of the sequences.
struct PersistentGroups {
  int64_t count = 0;
  int num_blocks = 0;  // of one
  int at_once = 0;     // as many find multiprocessors of their own; the others take turns, or share some
  bool are_clusters = true;
};
PersistentGroups forward_groups(const PersistentSequence& sequence);
PersistentGroups backward_groups(const PersistentSequence& sequence);

// Lays the weights out in the order in which the threads of a pass hold them, rounded to the sequence's type.
void pack_forward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                          CUstream_st* stream);
void pack_backward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                           CUstream_st* stream);

// Why no kernel can be compiled here, as one sentence; nothing where one can.
std::optional<std::string> persistent_kernels_refusal();

// Whether the driver compiles them, from PTX: RNNLAB_KERNELS_AS=ptx in the environment, for tests of what it makes of
// code that is older than its GPU.
bool runs_persistent_as_ptx();

// SHA-256 of their sources.
std::string fingerprint_of_persistent_kernels();

// What to tell the user of kernels that were compiled since the last call: that they were, and where they are kept.
std::vector<std::string> take_persistent_notes();

// One launch each, or one a round. std::runtime_error with a clear message where the GPU cannot do it.
void run(const PersistentForward& work, CUstream_st* stream);
void run(const PersistentBackward& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
