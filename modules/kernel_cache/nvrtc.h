// NVIDIA's compiler of kernels as a library, NVRTC of CUDA 13, which LibTorch for CUDA brings along. It is loaded when
// it is asked for first; it needs no GPU and no CUDA toolkit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

// Source of GPU kernels, and what a compiler makes of it.

// A file that sources include by this name; it is nowhere on the disk.
struct KernelHeader {
  std::string_view name;
  std::string_view text;
};

struct KernelProgram {
  std::string source;
  std::span<const KernelHeader> headers;
  std::string architecture;        // "sm_90a", or "compute_90" for PTX, which the driver compiles for the GPU
  std::vector<std::string> names;  // of kernels, as C++ names them: "ns::kernel<ns::Tiles<128>>"
};

struct CompiledKernels {
  std::string code;                  // cubin or PTX
  std::vector<std::string> symbols;  // of the names, in their order

  bool operator==(const CompiledKernels&) const = default;
};

// Why nothing can be compiled, as one sentence; nothing where it can.
std::optional<std::string> nvrtc_refusal();

// "13.0"; needs NVRTC.
std::string nvrtc_version();

// The options that every program is compiled with, besides its architecture.
std::string kernel_options();

// UserError kDevice where there is no NVRTC, it does not know the architecture, or it does not compile the source: then
// with its words. Several threads may compile at once.
CompiledKernels compile(const KernelProgram& program);

}  // namespace rnnlab
