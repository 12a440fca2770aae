// What the processors of the machine have taken of energy, by their own counters (RAPL, by Linux's powercap). All that
// runs on them counts, not this process alone. Many systems let only root read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "results/file_descriptor.h"

namespace rnnlab {

class CpuEnergy {
 public:
  // Of the packages below `root`, the root of the file system.
  explicit CpuEnergy(const std::filesystem::path& root = "/");

  // Begins to count.
  void start();

  // Joules since start(), of all packages together. Nothing where one of them does not count. A counter that began at
  // zero again once is put right; one of them takes minutes.
  std::optional<double> joules() const;

 private:
  struct Package {
    FileDescriptor counter;
    int64_t range = 0;  // microjoules at which it begins at zero again
    std::optional<int64_t> start = std::nullopt;
  };

  std::vector<Package> packages_;
};

}  // namespace rnnlab
