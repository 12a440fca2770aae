// Kernels for this process: from the folder that a build may have filled, else from the cache, else compiled and kept
// there. A cache that cannot be read or written costs time, and one note.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel_cache/kernel_cache.h"

namespace rnnlab {

class KernelSupply {
 public:
  // built: made with the program, under keys without a compiler's version; need not be there. An empty path: there is
  // no such folder, and nothing is kept.
  KernelSupply(std::filesystem::path built, std::filesystem::path cache)
      : built_(std::move(built)), cache_(std::move(cache)) {}

  // Why no kernel can be had, as one sentence; nothing where one can.
  std::optional<std::string> refusal() const;

  // As compile(). One thread at a time.
  CompiledKernels get(const KernelProgram& program);

  // What to tell the user since the last call: what was compiled in how many seconds and where it is kept, and why it
  // could not be kept.
  std::vector<std::string> take_notes();

 private:
  CompiledKernels compile_and_keep(const KernelProgram& program, const std::string& key);
  void keep(const std::string& key, const CompiledKernels& kernels);

  KernelCache built_, cache_;
  int num_compiled_ = 0;
  double seconds_ = 0;
  std::string fault_;            // of keeping, not yet told
  bool could_not_keep_ = false;  // told or not: it is not tried again
};

// The process's own: `kernels` beside the program, and `kernels` in cache_folder().
KernelSupply make_kernel_supply();

}  // namespace rnnlab
