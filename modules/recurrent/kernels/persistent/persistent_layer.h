// A recurrent layer on a Hopper GPU whose recurrent weights stay on the chip for a whole sequence: one kernel a pass,
// in which a group of blocks computes all steps for a group of sequences and hands hidden states (or, in the backward
// pass, sums of gradients) around: a cluster through distributed shared memory, or as many blocks as it takes through
// L2. Products take operands of 16 bits and add up in float32; cell states, activations and gradients of states are
// float32, but that sums on their way through L2 have the digits of the class's factors. Leaves out the products that
// wait for no step: those of the inputs before, and the gradients of weights and inputs after.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recurrent/kernels/element_type.h"
#include "recurrent/kernels/pointwise.h"

struct CUstream_st;

namespace rnnlab::kernels {

enum class ReadingOrder { kForward, kReverse };

// A GRU has the reset gate after the product; LSTM and GRU have tanh.
enum class PersistentCell { kLstm, kGru, kRnn };

// What a float32 layer's recurrent products round their factors to: one float16, whose mantissa is TF32's, or two,
// which have float32's but for two bits.
enum class Factors { kTf32, kFloat32 };

// The kernels that a pass may take, each with those before it: clusters of blocks of one team of warps; smaller blocks
// and two teams; blocks over the whole GPU.
enum class PersistentKernels { kClusters, kClustersAndTeams, kAll };

// T steps, B sequences, H units, G gates. type: of all that is not float*.
struct PersistentSequence {
  int64_t num_steps = 0;
  int64_t batch_size = 0;
  int64_t hidden_size = 0;
  ElementType type = ElementType::kFloat32;
  ReadingOrder order = ReadingOrder::kForward;
  PersistentCell cell = PersistentCell::kLstm;
  Nonlinearity nonlinearity = Nonlinearity::kTanh;  // of a kRnn
  Factors factors = Factors::kTf32;                 // in float32
  PersistentKernels kernels = PersistentKernels::kAll;
};

// Hidden and cell states have T + 1 rows, as unrolled/trace.h has them: the initial one before the first step read.
struct PersistentForward {
  PersistentSequence sequence;
  const void* weights = nullptr;  // from pack_forward_weights
  const void* bias_ih = nullptr;  // (G * H)
  const void* bias_hh = nullptr;  // (G * H)
  void* gates = nullptr;          // (T, B, G * H): products of the inputs in; activated gates out, but for kRnn
  void* candidates = nullptr;     // (T, B, H), kGru only: R h + b of the candidate out
  void* hidden = nullptr;         // (T + 1, B, H): the initial row in, all others out
  void* half_hidden = nullptr;    // (T + 1, B, H) float16, or null: all rows but the initial one once more; kTf32 only
  float* cell = nullptr;          // (T + 1, B, H), kLstm only: as `hidden`
  void* exchange = nullptr;       // forward_exchange_bytes
  int* timed_out = nullptr;       // memory that host and device see: set to 1 where a block waited in vain
};

struct PersistentBackward {
  PersistentSequence sequence;
  const void* weights = nullptr;          // from pack_backward_weights
  const void* gates = nullptr;            // (T, B, G * H), activated; not read for kRnn
  const void* candidates = nullptr;       // (T, B, H), kGru only
  const void* hidden = nullptr;           // (T + 1, B, H); not read for kLstm
  const float* cell = nullptr;            // (T + 1, B, H), kLstm only
  const void* output_gradient = nullptr;  // (T, B, H), or null
  const float* cell_gradient = nullptr;   // (T, B, H), kLstm only: of the cell states as results, or null
  // (B, H), or null: gradients of the last states beside `output_gradient`, as results or of steps that are read later.
  const void* later_hidden = nullptr;
  const float* later_cell = nullptr;  // kLstm only
  void* gate_gradients = nullptr;     // (T, B, columns * H) out: of the gates before activation, see below
  void* initial_hidden = nullptr;     // (B, H) out: the gradient of the initial hidden state
  float* initial_cell = nullptr;      // (B, H) out, kLstm only
  float* bias_sums = nullptr;         // (bias_sum_rows, sides, G * H) out, or null: see below
  int32_t* largest = nullptr;         // 0 in, or null: see below
  void* exchange = nullptr;           // backward_exchange_bytes
  int* timed_out = nullptr;
};

// W x + b and R h + b of a kGru have two gradients of the candidate; its other gates, and all of other cells, one for
// both. So a row has 4 * H columns there, and G * H elsewhere: R h + b's candidate, reset, update, W x + b's candidate.
// The first three are R h + b's gates, the last three W x + b's.
//
// The sum over the rows of `bias_sums` is the gradient of the biases: of b_ih and b_hh for kGru, of either one for
// others, which have one side. `largest` becomes the bits of the largest magnitude on both sides, in the classes of
// float32.
inline int64_t bias_sum_rows(int64_t batch_size) { return (batch_size + 7) / 8; }

// Whether there are kernels for layers of this size: multiples of 8 from 64 to 1536, to 1024 of kFloat32 and without
// kAll. Layers of other types than float32 have the sizes of kTf32.
inline constexpr int kLargestOfClusters = 1024;
inline constexpr int kLargestOfGrids = 1536;
inline bool has_persistent_layer(int64_t hidden_size, Factors factors, PersistentKernels kernels) {
  const bool has_grids = factors == Factors::kTf32 && kernels == PersistentKernels::kAll;
  return hidden_size >= 64 && hidden_size <= (has_grids ? kLargestOfGrids : kLargestOfClusters) && hidden_size % 8 == 0;
}

// Bytes of the packed weights of one pass, the larger of both.
size_t packed_weight_bytes(const PersistentSequence& sequence);

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

// (G * H, H), in float32 or the sequence's type.
struct RecurrentWeights {
  const void* values = nullptr;
  ElementType type = ElementType::kFloat32;
};

// Lays them out in the order in which the threads of a pass hold them, rounded to the sequence's type.
void pack_forward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                          CUstream_st* stream);
void pack_backward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                           CUstream_st* stream);

// One launch each, or one a round. std::runtime_error with a clear message where the GPU cannot do it.
void run(const PersistentForward& work, CUstream_st* stream);
void run(const PersistentBackward& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
