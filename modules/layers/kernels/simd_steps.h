// SPDX-License-Identifier: Apache-2.0
// Runs steps of cells and copies matrices by vector instructions, in float32 and bfloat16, on processors with AVX2 or
// AVX-512. The instruction set is selected at run time. Here the products of a step may also be float32 sums of the
// caller, for a part of the units.
#pragma once

#include <cstdint>

#include "layers/kernels/program_step.h"
#include "layers/kernels/sums.h"

namespace rnnlab::kernels {

struct Range {
  int64_t first = 0;
  int64_t last = 0;
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
  void (*run)(const ProgramStep&, const Sums&, const Part&);
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

}  // namespace rnnlab::kernels
