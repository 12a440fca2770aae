// SPDX-License-Identifier: Apache-2.0
// Runs the steps of pointwise.h and copies matrices by vector instructions, in float32 and bfloat16, on processors with
// AVX2 or AVX-512. The instruction set is selected at run time. Here the products of a step may also be float32 sums of
// the caller, for a part of the units.
#pragma once

#include <cstdint>

#include "layers/kernels/pointwise.h"
#include "layers/kernels/program_step.h"

namespace rnnlab::kernels {

struct Range {
  int64_t first = 0;
  int64_t last = 0;
};

// Sums of products for rows and units from `first_row` and `first_unit` on. In a forward step they replace
// Products::input and Products::recurrent: both products without biases, gate by gate; for a GRU r, z, and separately
// both sides of n (W_in x, W_hn h). In a backward step, gate 0 is the gradient from the next step.
struct Sums {
  const float* data = nullptr;  // null: there are no sums
  int64_t row_stride = 0;
  int64_t gate_stride = 0;
  int64_t first_row = 0;
  int64_t first_unit = 0;
};

// The part of a step that a call runs.
struct Part {
  Range rows;
  Range units;
};

// Describes a matrix of 32-bit words, row by row, with the stride in words.
struct WordMatrix {
  const void* data = nullptr;
  int64_t stride = 0;
  int64_t num_rows = 0;
  int64_t num_columns = 0;
};

inline constexpr int64_t kCountersOfBlock = 16, kWordsOfBlock = 4 * kCountersOfBlock;

// Holds the functions of one instruction set for steps in float32 and bfloat16.
struct SimdSteps {
  const char* name;  // "AVX2"
  void (*lstm_forward)(const LstmForward&, const Sums&, const Part&);
  void (*lstm_backward)(const LstmBackward&, const Sums&, const Part&);
  void (*gru_forward)(const GruForward&, const Sums&, const Part&);
  void (*gru_backward)(const GruBackward&, const Sums&, const Part&);
  void (*rnn_forward)(const RnnForward&, const Sums&, const Part&);
  void (*rnn_backward)(const RnnBackward&, const Sums&, const Part&);
  void (*program)(const ProgramStep&, const Sums&, const Part&);
  void (*transpose)(const WordMatrix& source, void* target, int64_t target_stride);  // target: num_columns rows
  void (*interleave)(const uint16_t* even, const uint16_t* odd, int64_t count, void* target);  // count words
  void (*narrow)(const float* source, int64_t count, void* target);                            // to bfloat16
  // Draws words by Philox 4x32-10 (Salmon et al. 2011), kWordsOfBlock words a block: the first words of
  // kCountersOfBlock counters, then their second words ...; block b begins with counter b * kCountersOfBlock.
  void (*random_words)(uint64_t key, uint64_t first_block, int64_t num_blocks, uint32_t* target);
};

const SimdSteps& avx2_steps();
const SimdSteps& avx512_steps();
const SimdSteps& avx512_bf16_steps();  // has an instruction that rounds to bfloat16

// Returns the functions with the widest vectors that this processor supports, or null.
const SimdSteps* simd_steps();

inline void run(const SimdSteps& steps, const LstmForward& work, const Sums& sums, const Part& part) {
  steps.lstm_forward(work, sums, part);
}
inline void run(const SimdSteps& steps, const LstmBackward& work, const Sums& sums, const Part& part) {
  steps.lstm_backward(work, sums, part);
}
inline void run(const SimdSteps& steps, const GruForward& work, const Sums& sums, const Part& part) {
  steps.gru_forward(work, sums, part);
}
inline void run(const SimdSteps& steps, const GruBackward& work, const Sums& sums, const Part& part) {
  steps.gru_backward(work, sums, part);
}
inline void run(const SimdSteps& steps, const RnnForward& work, const Sums& sums, const Part& part) {
  steps.rnn_forward(work, sums, part);
}
inline void run(const SimdSteps& steps, const RnnBackward& work, const Sums& sums, const Part& part) {
  steps.rnn_backward(work, sums, part);
}

inline void run(const SimdSteps& steps, const ProgramStep& work, const Sums& sums, const Part& part) {
  steps.program(work, sums, part);
}

}  // namespace rnnlab::kernels
