// The plans that a layer has made, one a shape, each by the algorithm that was asked for or found fastest. Making one
// may measure and wait for the device; finding one costs a comparison. Plans for sequences of varied lengths are made
// again every time, for cuDNN keeps the lengths in them, and always by the standard algorithm, the only one that has
// them.
#pragma once

#include <c10/cuda/CUDAGraphsC10Utils.h>

#include <memory>
#include <string>
#include <vector>

#include "recurrent/cudnn/algorithm_choice.h"
#include "recurrent/cudnn/rnn_descriptor.h"
#include "recurrent/cudnn/rnn_plan.h"

namespace rnnlab {

// Whether a CUDA graph is being captured: nothing may then wait for the device, and what is queued runs at every
// replay.

inline bool is_capturing() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

// How long cuDNN's algorithms take at a shape on the current GPU: whole passes on random data, in device time.

// Of the current GPU.
CudnnPlatform current_platform();

// Measures passes of `shape` on the current stream and waits for them; not while a CUDA graph is captured. The random
// numbers that training draws are left alone. The host's time is left out, for a CUDA graph hides it. Where cuDNN fails
// at what it does not refuse, its UserError kDevice passes through, and so does c10::OutOfMemoryError.
MeasureAlgorithm measure_on_gpu(const RnnShape& shape, const WeightLayout& layout, at::Device device);

struct PlannedPass {
  std::shared_ptr<const RnnPlan> plan;
  std::string why;  // this algorithm, where nobody asked for it; else ""
};

class PlanCache {
 public:
  explicit PlanCache(CudnnAlgorithm wanted) : wanted_(wanted) {}

  // lengths: (B) int64 on the CPU, or undefined. weights: the weight space, laid out as `layout`. UserError kUsage
  // where cuDNN refuses the shape, or where a plan is still to be made while a CUDA graph is captured.
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
