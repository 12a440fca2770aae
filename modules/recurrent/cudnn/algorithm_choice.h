// `cudnn_algorithm: auto`: each of cuDNN's algorithms measured once for a shape, the fastest one kept. What measures is
// handed in, so that nothing here needs a GPU.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "recurrent/cudnn/rnn_shape.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

// What `cudnn_algorithm: auto` has found out, from one run to the next: a small JSON file in the user's cache folder,
// written whole (system/files.h). Losing it costs only the measurements: a missing, broken or unwritable file is no
// cache, without a word.

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

// What an answer holds for, besides the shape.
struct CudnnPlatform {
  std::string gpu;     // "NVIDIA H200"
  std::string driver;  // "580.159.03"
  std::string cudnn;   // "9.19.0"
};

// The milliseconds of a pass; nothing where cuDNN does not run the algorithm at the shape. c10::OutOfMemoryError where
// there is too little memory for it now.
using MeasureAlgorithm = std::function<std::optional<double>(CudnnAlgorithm)>;

// The key of an answer in the cache: everything that it holds for, readable.
std::string algorithm_key(const CudnnPlatform& platform, const RnnShape& shape);

// From the cache, else measured and added to it, but for an answer that lacks an algorithm for want of memory: with
// more it may be another. UserError kUsage where no algorithm runs, the c10::OutOfMemoryError where memory is why.
MeasuredAlgorithm choose_algorithm(const CudnnPlatform& platform, const RnnShape& shape, const AlgorithmCache& cache,
                                   const MeasureAlgorithm& measure);

}  // namespace rnnlab
