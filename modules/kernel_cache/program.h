// Source of GPU kernels, and what a compiler makes of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

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

}  // namespace rnnlab
