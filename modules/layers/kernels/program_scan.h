// SPDX-License-Identifier: Apache-2.0
// Runs all steps of one direction of one layer for a cell in which no product reads the hidden state: the units of a
// sequence do not depend on each other, so that each runs over all steps by itself. The cell is a program, as in
// program_step.h. On a CPU a thread runs the steps of some sequences. On a GPU a thread runs those of one unit, by one
// kernel for the forward pass and one for the backward pass (scan_kernel.h).
//
// T steps, B sequences, H hidden units. Matrices are dense. "acc" marks the accumulation type (element_type.h);
// everything else is in the step's type. `columns` has the numbers of columns, in units of H.
#pragma once

#include "layers/kernels/program_step.h"

namespace rnnlab::kernels {

// A pass leaves out the members of the other pass.
struct ProgramScan {
  Step step;
  StepPass pass = StepPass::kForward;             // or kBackward
  int program = kInterpreted;                     // among the compiled programs
  StepColumns columns = {};                       // hidden: 0
  const TileInstruction* instructions = nullptr;  // of this pass; the CPU reads them if the program is interpreted
  int64_t num_instructions = 0;
  const char* text = nullptr;  // the program as C++ for GPUs (print_step.h), which lives forever

  int64_t num_steps = 0;
  bool is_reversed = false;     // the last step is first
  const bool* alive = nullptr;  // (T, B): the first steps of each sequence, or null if all are. Others leave the states
                                // unchanged, and their results, which are zeros before the call, as they are

  // (T, B): whether the states are reset to zero before a step; null if they never are.
  const bool* starts = nullptr;

  void* sums = nullptr;           // (T, B, input * H) W x + b. A CPU's forward pass replaces them by kept values
  void* more_kept = nullptr;      // (T, B, (kept - input) * H), on a CPU alone
  const void* no_bias = nullptr;  // (input * H) zeros, on a CPU alone, whose steps add biases
  const void* vectors = nullptr;  // (vectors * H)

  const void* initial_hidden = nullptr;  // (B, H)
  const void* initial_inner = nullptr;   // (B, inner * H) acc
  void* hidden = nullptr;                // (T, B, H) after each step
  void* inner = nullptr;                 // (T, B, inner * H) acc
  void* final_hidden = nullptr;          // (B, H)
  void* final_inner = nullptr;           // (B, inner * H) acc

  const void* hidden_gradients = nullptr;       // (T, B, H), or null for zeros
  const void* final_hidden_gradient = nullptr;  // (B, H), or null
  const void* final_inner_gradient = nullptr;   // (B, inner * H) acc, or null
  void* sum_gradients = nullptr;                // (T, B, input * H)
  void* carry = nullptr;                        // (B, carried * H) acc: zeros, then gradients of the initial states
  void* vector_gradients = nullptr;             // (B, vectors * H) acc: zeros, then sums over the steps
  void* step_vector_gradients = nullptr;        // (B, vectors * H), memory for those of a step, on a CPU alone
};

#ifndef __CUDACC_RTC__
// Runs the sequences `rows` on the CPU; callers divide them among threads.
void run(const ProgramScan& work, Rows rows);

// Queues the kernel on `stream` of a GPU. A program that the build has not compiled is compiled from its text when it
// is first run (jit_step.h). Throws std::runtime_error with CUDA's message if the kernel does not start.
void run(const ProgramScan& work, CUstream_st* stream);
#endif

}  // namespace rnnlab::kernels
