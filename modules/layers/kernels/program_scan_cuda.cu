// SPDX-License-Identifier: Apache-2.0
#include "layers/kernels/jit_step.h"
#include "layers/kernels/launch.h"
#include "layers/kernels/scan_kernel.h"

// A compilation unit may contain sources of several kernels, so these helpers have their own namespace.
namespace rnnlab::kernels {
namespace {
namespace program_scan {

// The programs that print_step.h has written: with_compiled_program().
#include "layers/kernels/compiled_programs.inc"

unsigned num_blocks(const ProgramScan& scan) {
  const int64_t num_channels = scan.step.batch_size * scan.step.hidden_size;
  return static_cast<unsigned>((num_channels + kThreadsOfScan - 1) / kThreadsOfScan);
}

template <class Program, class T>
void start(const ProgramScan& scan, cudaStream_t stream) {
  if constexpr (Program::kColumns.hidden == 0) {
    const auto kernel =
        scan.pass == StepPass::kForward ? scan_forward_kernel<Program, T> : scan_backward_kernel<Program, T>;
    kernel<<<num_blocks(scan), kThreadsOfScan, 0, stream>>>(scan);
  }
}

void start_own(const ProgramScan& scan, cudaStream_t stream) {
  void* arguments[] = {const_cast<ProgramScan*>(&scan)};
  cudaLaunchKernel(reinterpret_cast<const void*>(jit_scan_kernel(scan)), dim3(num_blocks(scan)), dim3(kThreadsOfScan),
                   arguments, 0, stream);
}

void launch(const ProgramScan& scan, cudaStream_t stream) {
  if (scan.program == kInterpreted) start_own(scan, stream);
  with_compiled_program(scan.program, [&](auto program) {
    with_cuda_type(scan.step.type, [&](auto element) { start<decltype(program), decltype(element)>(scan, stream); });
  });
  require_started("the kernel of layer: scan");
}

}  // namespace program_scan
}  // namespace

void run(const ProgramScan& work, cudaStream_t stream) { program_scan::launch(work, stream); }

}  // namespace rnnlab::kernels
