// Compiled kernels in a folder, a file each, from one process to the next. Losing one costs only the time to compile
// it: a file that is missing, cut off or damaged is no entry. Several processes may use a folder at once; a file is
// written whole (system/files.h). The files that were used longest ago go when all are larger than a bound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kernel_cache/nvrtc.h"

namespace rnnlab {

// What a program's kernels depend on, but for the compiler's version: SHA-256 of its texts, names and options.
std::string key_of(const KernelProgram& program);

class KernelCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{256} << 20;

  explicit KernelCache(std::filesystem::path folder, int64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  const std::filesystem::path& folder() const { return folder_; }

  // What `key` was added with. An entry that is found counts as used.
  std::optional<CompiledKernels> find(const std::string& key) const;

  // Makes the folder where it is not there. UserError kDevice where the entry cannot be written.
  void add(const std::string& key, const CompiledKernels& kernels) const;

 private:
  std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + ".kernels"); }
  void remove_oldest() const;

  std::filesystem::path folder_;
  int64_t most_bytes_;
};

}  // namespace rnnlab
