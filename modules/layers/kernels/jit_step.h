// SPDX-License-Identifier: Apache-2.0
// Kernels of steps and scans whose programs the build has not compiled: NVRTC compiles them from the program's text
// when they are first run, and the kernel cache keeps them.
#pragma once

#include <span>
#include <string>

#include "layers/kernel_cache/nvrtc.h"
#include "layers/kernels/program_scan.h"
#include "layers/kernels/program_step.h"

struct CUkern_st;  // what cudaKernel_t points to

namespace rnnlab::kernels {

// Returns the texts of the headers that a program's kernels include. The build writes this function.
std::span<const KernelHeader> step_sources();

// Returns what NVRTC compiles for a type: the kernels of a step forward and backward, of the same step of several
// layers forward and backward, and if the program has operands, of them and of the sides of their products. text: a
// struct with the name JitProgram; columns: the program's.
KernelProgram jit_step_program(const char* text, const StepColumns& columns, ElementType type,
                               const std::string& architecture);

// Returns what NVRTC compiles for a type: the kernels of a scan forward and backward. text: as above.
KernelProgram jit_scan_program(const char* text, ElementType type, const std::string& architecture);

// Returns the kernel of the current GPU for the work's program, pass and type. has_layers: of several layers.
CUkern_st* jit_step_kernel(const ProgramStep& work, bool has_layers);
CUkern_st* jit_scan_kernel(const ProgramScan& work);

}  // namespace rnnlab::kernels
