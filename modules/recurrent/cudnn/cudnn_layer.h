// `cudnn`: cuDNN called directly, by the algorithm that the options name or, with auto, the one that was fastest when
// all were measured (algorithm_choice.h). CUDA only; float32 (with TF32 where LibTorch allows it to cuDNN), float64,
// bfloat16, float16, and autocast. Does not do activations other than tanh in LSTM and GRU, nor the reset gate before
// the product. With dropout between layers the stack runs layer by layer (layer_groups.h).
#pragma once

#include "recurrent/cudnn/plan_cache.h"
#include "recurrent/cudnn/rnn_plan.h"
#include "recurrent/cudnn/weight_space.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

class CudnnLayer : public RecurrentLayer {
 public:
  explicit CudnnLayer(const RecurrentOptions& options);
  LayerKind kind() const override { return LayerKind::kCudnn; }

  // The parameters move into one new buffer. A parameter whose memory was replaced by hand is taken in by the next
  // call.
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, bool non_blocking = false) override;

 private:
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) override;
  RecurrentResult run_group(size_t group, const RnnOperands& operands, const at::Tensor& lengths);
  void gather_weights();

  std::vector<RecurrentOptions> groups_;
  std::vector<PlanCache> plans_;  // of the groups
  WeightSpace space_;             // on CUDA
};

}  // namespace rnnlab
