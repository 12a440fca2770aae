// Provides kernels for this process: from the folder of the build, else from the cache, else compiled and added to the
// cache. A cache that cannot be read or written costs time, and adds one note.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel_cache/kernel_cache.h"

namespace rnnlab {

class KernelSupply {
 public:
  // `built` was filled by the build, under keys without a compiler's version; it may be missing. If `built` is empty,
  // there is no such folder; if `cache` is empty, compiled kernels are not kept.
  KernelSupply(std::filesystem::path built, std::filesystem::path cache)
      : built_(std::move(built)), cache_(std::move(cache)) {}

  // Returns one sentence that says why no kernel is available; nullopt if kernels are available.
  std::optional<std::string> refusal() const;

  // Returns the compiled kernels; throws as compile(). It is not thread-safe.
  CompiledKernels get(const KernelProgram& program);

  // Returns notes for the user since the last call: the number of compiled kernels, the seconds and the cache folder,
  // or why the kernels could not be kept.
  std::vector<std::string> take_notes();

 private:
  CompiledKernels compile_and_keep(const KernelProgram& program, const std::string& key);
  void keep(const std::string& key, const CompiledKernels& kernels);

  KernelCache built_, cache_;
  int num_compiled_ = 0;
  double seconds_ = 0;
  std::string fault_;            // why kernels were not kept, until it is reported
  bool could_not_keep_ = false;  // reported or not; keeping is not retried
};

// Returns the supply of this process: `kernels` next to the program, and `kernels` in cache_folder().
KernelSupply make_kernel_supply();

}  // namespace rnnlab
