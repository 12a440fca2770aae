// `cudnn`: cuDNN called directly, by the algorithm that the options name or, with auto, the one that was fastest when
// all were measured (algorithm_choice.h). CUDA only; float32 (with TF32 where LibTorch allows it to cuDNN), float64,
// bfloat16, float16, and autocast. Does not do activations other than tanh in LSTM and GRU, nor the reset gate before
// the product. With dropout between layers the stack runs layer by layer (layer_groups.h).
#pragma once

#include <memory>

#include "recurrent/cudnn/plan_cache.h"
#include "recurrent/cudnn/rnn_plan.h"
#include "recurrent/cudnn/weight_space.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// A plan's passes as one differentiable function of the input, the initial state and the weights. The weights' values
// come from cuDNN's weight space; the parameters themselves stand here for their gradients, which are views of one
// buffer.

// kForward where nothing needs a gradient or gradients are off, whatever the layer's mode.
Passes passes_of(const RnnOperands& operands, at::TensorList weights);

// operands: as RnnPlan wants them; gradients flow to input and states. weights: the parameters that operands.weights
// holds, in its type or in another, to which the gradients are then converted. The plan is one for
// passes_of(operands, weights).
RecurrentResult run_plan(const std::shared_ptr<const RnnPlan>& plan, const RnnOperands& operands,
                         at::TensorList weights);

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
