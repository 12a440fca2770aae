// `cudnn_algorithm: auto`: each of cuDNN's algorithms measured once for a shape, the fastest one kept. What measures is
// handed in, so that nothing here needs a GPU.
#pragma once

#include <functional>
#include <string>

#include "recurrent/cudnn/algorithm_cache.h"
#include "recurrent/cudnn/rnn_shape.h"

namespace rnnlab {

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
