// SPDX-License-Identifier: Apache-2.0
// Computes the parts of a recurrent step besides its two matrix products, forward and backward, in one kernel each:
// sums of products and biases, gates, cell state, hidden state. The kernels take plain pointers, for B sequences and H
// hidden units, and do not use LibTorch; matrices are row-major and dense. The formulas are in pointwise_unit.h, with
// their sources.
//
// "acc" marks the accumulation type (element_type.h); everything else is in `type`. A null pointer that is marked "or
// null" counts as zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/kernels/element_type.h"

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

struct Step {
  ElementType type = ElementType::kFloat32;
  Nonlinearity nonlinearity = Nonlinearity::kTanh;  // for the cell's candidate and output; the gates are sigmoids
  int64_t batch_size = 0;
  int64_t hidden_size = 0;
};

// Holds products and biases of one step. `below` requires a stride. There are G * H columns, with the gates in the
// order of parameters.h.
struct Products {
  void* input = nullptr;            // (B, G * H): W_ih x before the step, the activated gates after it
  const void* recurrent = nullptr;  // (B, G * H) W_hh h
  const void* bias_ih = nullptr;    // (G * H)
  const void* bias_hh = nullptr;    // (G * H)
  const void* below = nullptr;      // W_ih x if it is not in `input`, or null
  // Elements between the rows of `recurrent` and `below`; 0 if the rows are dense. Only for LSTM and plain cells; a
  // GRU's rows must be dense.
  int64_t row_stride = 0;
};

// The gradient with respect to a step's hidden state is the sum of all three. `from_above` requires a stride.
struct HiddenGradient {
  const void* from_output = nullptr;     // (B, H), or null
  const void* from_next_step = nullptr;  // (B, H) through the recurrent product, or null
  const void* from_above = nullptr;      // (B, H) from the layer that reads the hidden state, or null
  int64_t row_stride = 0;                // elements between the rows of the last two; 0 if the rows are dense
};

struct LstmForward {
  Step step;
  Products products;
  const void* previous_cell = nullptr;  // (B, H) acc
  void* cell = nullptr;                 // (B, H) acc
  void* hidden = nullptr;               // (B, H)
};

struct LstmBackward {
  Step step;
  HiddenGradient hidden_gradient;
  const void* cell_output_gradient = nullptr;  // (B, H) acc, of the cell state as a result, or null
  const void* gates = nullptr;                 // (B, 4H) activated
  const void* previous_cell = nullptr;         // (B, H) acc
  const void* cell = nullptr;                  // (B, H) acc
  void* carry = nullptr;           // (B, H) acc: gradient of `cell` before the call, of `previous_cell` after it
  void* gate_gradients = nullptr;  // (B, 4H) before activation
};

struct GruForward {
  Step step;
  Products products;
  const void* previous_hidden = nullptr;  // (B, H)
  void* recurrent_candidate = nullptr;    // (B, H) W_hn h + b_hn, stored for the backward pass
  void* hidden = nullptr;                 // (B, H)
};

struct GruBackward {
  Step step;
  HiddenGradient hidden_gradient;
  const void* gates = nullptr;                // (B, 3H) activated
  const void* recurrent_candidate = nullptr;  // (B, H)
  const void* previous_hidden = nullptr;      // (B, H)
  void* carry = nullptr;  // (B, H) acc: gradient of the hidden state without the product, before and after the call
  void* input_gradients = nullptr;      // (B, 3H) of W_ih x + b_ih
  void* recurrent_gradients = nullptr;  // (B, 3H) of W_hh h + b_hh
};

struct RnnForward {
  Step step;
  Products products;
  void* hidden = nullptr;  // (B, H); may be products.input
};

struct RnnBackward {
  Step step;
  HiddenGradient hidden_gradient;
  const void* hidden = nullptr;    // (B, H)
  void* gate_gradients = nullptr;  // (B, H) before activation
};

// Queue the work on `stream` of a GPU. Throw std::runtime_error with CUDA's message and a next step if the launch
// fails.
void run(const LstmForward& work, CUstream_st* stream);
void run(const LstmBackward& work, CUstream_st* stream);
void run(const GruForward& work, CUstream_st* stream);
void run(const GruBackward& work, CUstream_st* stream);
void run(const RnnForward& work, CUstream_st* stream);
void run(const RnnBackward& work, CUstream_st* stream);

// Run the same step of several layers on a diagonal by one kernel: at most kLayersAtOnce layers with equal `step`.
inline constexpr size_t kLayersAtOnce = 8;
void run(std::span<const LstmForward> layers, CUstream_st* stream);
void run(std::span<const LstmBackward> layers, CUstream_st* stream);
void run(std::span<const RnnForward> layers, CUstream_st* stream);
void run(std::span<const RnnBackward> layers, CUstream_st* stream);

// Run the rows `first` to `last` - 1 of the batch on the CPU; callers divide rows among threads.
struct Rows {
  int64_t first = 0;
  int64_t last = 0;
};
void run(const LstmForward& work, Rows rows);
void run(const LstmBackward& work, Rows rows);
void run(const GruForward& work, Rows rows);
void run(const GruBackward& work, Rows rows);
void run(const RnnForward& work, Rows rows);
void run(const RnnBackward& work, Rows rows);

}  // namespace rnnlab::kernels
