// SPDX-License-Identifier: Apache-2.0
// Runs the recurrence of minGRU and minLSTM over all steps of one direction of one layer on a GPU, with one kernel for
// the forward pass and one for the backward pass: h' = a * h + (1 - a) * n, element by element. The factor a is between
// 0 and 1, so products of factors cannot overflow, and the kernels do not need logarithms. They take plain pointers and
// do not use LibTorch.
//
// T steps, B sequences, H hidden units, G gates. Matrices are dense. A null pointer that is marked "or null" counts as
// zeros. "acc" marks the accumulation type (element_type.h); everything else is in `type`.
#pragma once

#include <cstdint>

#include "layers/kernels/element_type.h"

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

// States how the gates determine a. kUpdateGate (minGRU): the sums have rows z n, and a = 1 - sigmoid(z). kTwoGates
// (minLSTM): the sums have rows i f n, and a = f / (f + i) of the sigmoids.
enum class ScanGates { kUpdateGate, kTwoGates };

struct GatedScan {
  ElementType type = ElementType::kFloat32;
  ScanGates gates = ScanGates::kUpdateGate;
  bool has_positive_candidate = true;  // n is x + 0.5 if x >= 0, otherwise sigmoid(x); if false, n is x
  bool is_reversed = false;            // the last step is first
  int64_t num_steps = 0;
  int64_t batch_size = 0;
  int64_t hidden_size = 0;
  const void* sums = nullptr;     // (T, B, G * H) W x + b of the gates and the candidate
  const bool* alive = nullptr;    // (T, B): false leaves the state unchanged; or null if all are true
  const void* initial = nullptr;  // (B, H)
};

struct GatedScanForward {
  GatedScan scan;
  void* states = nullptr;  // (T, B, H) after each step
};

struct GatedScanBackward {
  GatedScan scan;
  const void* states = nullptr;           // (T, B, H) of the forward pass
  const void* state_gradients = nullptr;  // (T, B, H) from the outputs
  void* sum_gradients = nullptr;          // (T, B, G * H)
  void* initial_gradient = nullptr;       // (B, H)
};

// Queues the kernel on `stream`. Throws std::runtime_error with CUDA's message if it does not start.
void run(const GatedScanForward& work, CUstream_st* stream);
void run(const GatedScanBackward& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
