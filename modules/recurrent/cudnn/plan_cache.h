// SPDX-License-Identifier: Apache-2.0
// Keeps the plans that a layer has made, one for each shape, with the requested or the fastest algorithm. Making a plan
// may measure and wait for the device; finding one costs a comparison. Plans for sequences of varied lengths are made
// again every time, because cuDNN stores the lengths in them, and always use the standard algorithm, because only this
// one supports lengths.
#pragma once

#include <c10/cuda/CUDAGraphsC10Utils.h>

#include <memory>
#include <string>
#include <vector>

#include "recurrent/cudnn/algorithm_choice.h"
#include "recurrent/cudnn/rnn_descriptor.h"
#include "recurrent/cudnn/rnn_plan.h"

namespace rnnlab {

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
