// SPDX-License-Identifier: Apache-2.0
// `cudnn_algorithm: auto`: measures each of cuDNN's algorithms once for a shape and chooses the fastest. The measuring
// function is a parameter, so that this file needs no GPU.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "recurrent/cudnn/rnn_descriptor.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

// Holds a result of `cudnn_algorithm: auto`. Results are kept between runs in a small JSON file in the user's cache
// folder, which is replaced as a whole (system/files.h). The loss of this file costs only new measurements: a missing,
// broken or unwritable file is ignored without a message.
struct MeasuredAlgorithm {
  CudnnAlgorithm algorithm = CudnnAlgorithm::kStandard;  // the fastest
  std::map<CudnnAlgorithm, double> milliseconds;         // of a pass; without algorithms that cuDNN rejects
};

class AlgorithmCache {
 public:
  explicit AlgorithmCache(std::filesystem::path file) : file_(std::move(file)) {}

  std::optional<MeasuredAlgorithm> find(const std::string& key) const;

  // Adds an answer and keeps the answers that other processes have added; if two processes write at once, the last one
  // wins.
  void add(const std::string& key, const MeasuredAlgorithm& measured) const;

 private:
  std::filesystem::path file_;  // empty: answers are not stored
};

// Returns cudnn_algorithms.json in cache_folder(), or an empty path if the folder is missing.
std::filesystem::path algorithm_cache_file();

// The hardware and software for which an answer is valid, besides the shape.
struct CudnnPlatform {
  std::string gpu;     // "NVIDIA H200"
  std::string driver;  // "580.159.03"
  std::string cudnn;   // "9.19.0"
};

// Returns the milliseconds of a pass, or nothing if cuDNN does not support the algorithm for the shape. Throws
// c10::OutOfMemoryError if there is too little free memory.
using MeasureAlgorithm = std::function<std::optional<double>(CudnnAlgorithm)>;

// Returns the key of an answer in the cache: a readable text of everything for which the answer is valid.
std::string algorithm_key(const CudnnPlatform& platform, const RnnShape& shape);

// Returns the answer from the cache; otherwise measures and adds it. An answer that lacks an algorithm because of
// missing memory is not added, because it may change with more memory. Throws UserError kUsage if no algorithm runs, or
// the c10::OutOfMemoryError if memory is the reason.
MeasuredAlgorithm choose_algorithm(const CudnnPlatform& platform, const RnnShape& shape, const AlgorithmCache& cache,
                                   const MeasureAlgorithm& measure);

}  // namespace rnnlab
