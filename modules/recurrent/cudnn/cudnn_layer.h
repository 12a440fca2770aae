// `cudnn`: calls cuDNN directly, with the algorithm that the options name or, with auto, the fastest of all measured
// ones (algorithm_choice.h). The layer supports CUDA only, with float32 (with TF32 if LibTorch allows TF32 for cuDNN),
// float64, bfloat16, float16, and autocast. Left out: activations other than tanh in LSTM and GRU, and the reset gate
// before the product. With dropout between layers the stack runs layer by layer (stacked_layer.h).
#pragma once

#include <memory>

#include "recurrent/cudnn/plan_cache.h"
#include "recurrent/cudnn/rnn_plan.h"
#include "recurrent/cudnn/weight_space.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// The functions below run a plan's passes as one differentiable function of the input, the initial state and the
// weights. The values of the weights are those in cuDNN's weight space; the parameters are passed only to receive their
// gradients, which are views of one buffer.

// Returns kForward if no tensor needs a gradient or gradients are off, in any mode of the layer.
Passes passes_of(const RnnOperands& operands, at::TensorList weights);

// operands: as RnnPlan requires; gradients are computed for input and states. weights: the parameters in
// operands.weights, in its type or in another, to which the gradients are then converted. The plan must have been made
// for passes_of(operands, weights).
RecurrentResult run_plan(const std::shared_ptr<const RnnPlan>& plan, const RnnOperands& operands,
                         at::TensorList weights);

class CudnnLayer : public RecurrentLayer {
 public:
  explicit CudnnLayer(const RecurrentOptions& options);
  LayerKind kind() const override { return LayerKind::kCudnn; }

  // The parameters move into one new buffer. If user code replaces the memory of a parameter, the next call copies it
  // into a new buffer.
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
