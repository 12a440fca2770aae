// SPDX-License-Identifier: Apache-2.0
// Keeps compiled kernels in a folder, one file each, for later processes. Losing a file only costs the time to compile
// it again: a missing, truncated or damaged file is not an entry. Several processes may use a folder at the same time,
// because files are written atomically (base/system/files.h). Above a total size, the least recently used files are
// removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "layers/kernel_cache/nvrtc.h"

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

// Provides kernels for this process: from the folder of the build, else from the cache, else compiled and added to the
// cache. A cache that cannot be read or written costs time, and adds one note.
class KernelProvider {
 public:
  // `built` was filled by the build, under keys without a compiler's version; it may be missing. If `built` is empty,
  // there is no such folder; if `cache` is empty, compiled kernels are not kept.
  KernelProvider(std::filesystem::path built, std::filesystem::path cache)
      : built_(std::move(built)), cache_(std::move(cache)) {}

  // Returns one sentence that says why no kernel is available; nullopt if kernels are available.
  std::optional<std::string> unavailable_reason() const;

  // Returns the compiled kernels; throws as compile(). It is not thread-safe.
  CompiledKernels get(const KernelProgram& program);

  // Returns notes for the user since the last call: the number of compiled kernels, the seconds and the cache folder,
  // or why the kernels could not be kept.
  std::vector<std::string> take_notes();

 private:
  CompiledKernels compile_and_store(const KernelProgram& program, const std::string& key);
  void store(const std::string& key, const CompiledKernels& kernels);

  KernelCache built_, cache_;
  int num_compiled_ = 0;
  double seconds_ = 0;
  std::string cache_error_;         // why kernels were not stored in the cache's folder; "" after report
  bool is_cache_unusable_ = false;  // reported or not; storing is not retried
};

// Returns the provider of this process: `kernels` next to the program, and `kernels` in cache_folder().
KernelProvider make_kernel_provider();

}  // namespace rnnlab
