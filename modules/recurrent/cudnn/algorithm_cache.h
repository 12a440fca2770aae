// What `cudnn_algorithm: auto` has found out, from one run to the next: a small JSON file in the user's cache folder,
// written whole (results/files.h). Losing it costs only the measurements: a missing, broken or unwritable file is no
// cache, without a word.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "recurrent/recurrent_options.h"

namespace rnnlab {

struct MeasuredAlgorithm {
  CudnnAlgorithm algorithm = CudnnAlgorithm::kStandard;  // the fastest
  std::map<CudnnAlgorithm, double> milliseconds;         // of a pass; without those that cuDNN refuses
};

class AlgorithmCache {
 public:
  explicit AlgorithmCache(std::filesystem::path file) : file_(std::move(file)) {}

  std::optional<MeasuredAlgorithm> find(const std::string& key) const;

  // Keeps what other processes have added meanwhile; the last of two that write at once wins.
  void add(const std::string& key, const MeasuredAlgorithm& measured) const;

 private:
  std::filesystem::path file_;  // empty: nothing is kept
};

// cudnn_algorithms.json in cache_folder(), or an empty path where there is none.
std::filesystem::path algorithm_cache_file();

}  // namespace rnnlab
