// SPDX-License-Identifier: Apache-2.0
// Compiles kernels with NVRTC of CUDA 13, NVIDIA's compiler as a library, which LibTorch for CUDA requires too. The
// library is loaded at its first use; it needs neither a GPU nor the CUDA toolkit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

// A file that sources include by this name; it does not exist on the disk.
struct KernelHeader {
  std::string_view name;
  std::string_view text;
};

struct KernelProgram {
  std::string source;
  std::span<const KernelHeader> headers;
  std::string architecture;        // "sm_90a", or "compute_90" for PTX, which the driver compiles for the GPU
  std::vector<std::string> names;  // of kernels, as C++ expressions: "ns::kernel<ns::Tiles<128>>"
};

struct CompiledKernels {
  std::string code;                  // cubin or PTX
  std::vector<std::string> symbols;  // of the names, in the same order

  bool operator==(const CompiledKernels&) const = default;
};

// Returns one sentence that says why kernels cannot be compiled; nullopt if they can.
std::optional<std::string> nvrtc_unavailable_reason();

// Returns a version such as "13.0"; throws if NVRTC is missing.
std::string nvrtc_version();

// Returns the options with which every program is compiled, without its architecture.
std::string kernel_options();

// Compiles a program. Throws UserError kDevice if NVRTC is missing, does not support the architecture, or cannot
// compile the source: then with the compiler's log. Several threads may compile at once.
CompiledKernels compile(const KernelProgram& program);

}  // namespace rnnlab
