// SPDX-License-Identifier: Apache-2.0
// Keeps the plans that a layer has made, one for each shape, with the requested or the fastest algorithm. Making a plan
// may measure and wait for the device; finding one costs a comparison. Plans for sequences of varied lengths are made
// again every time, because cuDNN stores the lengths in them, and always use the standard algorithm, because only this
// one supports lengths.
#pragma once

#include <c10/cuda/CUDAGraphsC10Utils.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/cudnn/rnn_descriptor.h"
#include "layers/cudnn/rnn_plan.h"
#include "layers/recurrent_options.h"

namespace rnnlab {

// ---- the choice of an algorithm ----

// `cudnn_algorithm: auto` measures each of cuDNN's algorithms once for a shape and chooses the fastest. The measuring
// function is a parameter, so that the choice needs no GPU.

// Holds a result of `cudnn_algorithm: auto`. Results are kept between runs in a small JSON file in the user's cache
// folder, which is replaced as a whole (base/system/files.h). The loss of this file costs only new measurements: a
// missing, broken or unwritable file is ignored without a message.
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

// ---- cuDNN's plans (RnnPlan), one for each shape ----

// Returns whether a CUDA graph is being captured: then no code may wait for the device, and queued work runs at every
// replay.
inline bool is_capturing() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

// Returns the platform with the current GPU.
CudnnPlatform current_platform();

// Measures cuDNN's algorithms: the device time of whole passes of `shape` on random data. The function uses the current
// stream and waits for the passes; it must not be called while a CUDA graph is captured. The measurement does not
// change the random numbers that training draws. The host's time is left out, because a CUDA graph hides it. If cuDNN
// fails at a supported pass, its UserError kDevice propagates; so does c10::OutOfMemoryError.
MeasureAlgorithm measure_on_gpu(const RnnShape& shape, const WeightLayout& layout, at::Device device);

struct PlannedPass {
  std::shared_ptr<const RnnPlan> plan;
  std::string why;  // reason for the algorithm, unless the user asked for it; else ""
};

class PlanCache {
 public:
  explicit PlanCache(CudnnAlgorithm wanted) : wanted_(wanted) {}

  // lengths: (B) int64 on the CPU, or undefined. weights: the weight space, in the layout `layout`. Throws UserError
  // kUsage if cuDNN rejects the shape, or if a plan must still be made while a CUDA graph is captured.
  PlannedPass find_or_make(const RnnShape& shape, const at::Tensor& lengths, const at::Tensor& weights,
                           const WeightLayout& layout);

  void clear() { passes_.clear(); }

 private:
  PlannedPass make_whole(const RnnShape& shape, const at::Tensor& weights, const WeightLayout& layout) const;
  PlannedPass make_varied(const RnnShape& shape, const at::Tensor& lengths, const at::Tensor& weights,
                          const WeightLayout& layout) const;

  CudnnAlgorithm wanted_;
  std::vector<PlannedPass> passes_;  // of whole sequences
};

}  // namespace rnnlab
