// Keeps compiled kernels in a folder, one file each, for later processes. Losing a file only costs the time to compile
// it again: a missing, truncated or damaged file is not an entry. Several processes may use a folder at the same time,
// because files are written atomically (system/files.h). Above a total size, the least recently used files are removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kernel_cache/nvrtc.h"

namespace rnnlab {

// Returns the SHA-256 of everything that determines the kernels of a program, except the compiler's version: its texts,
// names and options.
std::string key_of(const KernelProgram& program);

class KernelCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{256} << 20;

  explicit KernelCache(std::filesystem::path folder, int64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  const std::filesystem::path& folder() const { return folder_; }

  // Returns the kernels that were added with `key`. An entry that is found counts as used.
  std::optional<CompiledKernels> find(const std::string& key) const;

  // Creates the folder if it is missing. Throws UserError kDevice if the entry cannot be written.
  void add(const std::string& key, const CompiledKernels& kernels) const;

 private:
  std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + ".kernels"); }
  void remove_oldest() const;

  std::filesystem::path folder_;
  int64_t most_bytes_;
};

}  // namespace rnnlab
