// What a pass of a persistent layer is asked for (persistent_layer.h): the arguments of its kernels, which the host
// fills in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recurrent/kernels/element_type.h"

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
  int* timed_out = nullptr;       // memory that host and device see: set to 1 if a block timed out
};

// gate_gradients: W x + b and R h + b of a kGru have two gradients of the candidate; its other gates, and all of other
// cells, one for both. So a row has 4 * H columns there, and G * H elsewhere: R h + b's candidate, reset, update, W x +
// b's candidate. The first three are R h + b's gates, the last three W x + b's.
//
// The sum over the rows of `bias_sums` is the gradient of the biases: of b_ih and b_hh for kGru, of either one for
// others, which have one side. `largest` becomes the bits of the largest magnitude on both sides, in the classes of
// float32.
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
  void* gate_gradients = nullptr;     // (T, B, columns * H) out: of the gates before activation
  void* initial_hidden = nullptr;     // (B, H) out: the gradient of the initial hidden state
  float* initial_cell = nullptr;      // (B, H) out, kLstm only
  float* bias_sums = nullptr;         // (bias_sum_rows, sides, G * H) out, or null
  int32_t* largest = nullptr;         // 0 in, or null
  void* exchange = nullptr;           // backward_exchange_bytes
  int* timed_out = nullptr;
};

// Recurrent weights (G * H, H), in float32 or the sequence's type.
struct RecurrentWeights {
  const void* values = nullptr;
  ElementType type = ElementType::kFloat32;
};

}  // namespace rnnlab::kernels
