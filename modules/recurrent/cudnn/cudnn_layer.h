// SPDX-License-Identifier: Apache-2.0
// `cudnn`: calls cuDNN directly, with the algorithm that the options name or, with auto, the fastest of all measured
// ones (plan_cache.h). The layer supports CUDA only, with float32 (with TF32 if LibTorch allows TF32 for cuDNN),
// float64, bfloat16, float16, and autocast. Left out: activations other than tanh in LSTM and GRU, and the reset gate
// before the product. With dropout between layers the stack runs layer by layer (stacked_layer.h).
#pragma once

#include <vector>

#include "recurrent/cudnn/plan_cache.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// Holds the parameters of a layer in the form that cuDNN needs: all in one buffer, each a view of it under its usual
// name and shape. Training writes through the views, so that cuDNN gets the buffer itself and nothing is copied between
// steps.
class WeightSpace {
 public:
  // Moves `weights`, those of all `groups` in order, into one new buffer on their CUDA device, in their type. One call
  // of cuDNN computes a group.
  void adopt(const std::vector<RecurrentOptions>& groups, const std::vector<at::Tensor>& weights);

  // Returns whether `weights` are the views that adopt() made; false if a view has been given different memory.
  bool holds(const std::vector<at::Tensor>& weights) const;

  const at::Tensor& buffer() const { return buffer_; }                // one dimension
  at::Tensor of_group(const at::Tensor& buffer, size_t group) const;  // its part of this buffer or of a converted one
  const WeightLayout& layout(size_t group) const { return places_[group].layout; }

 private:
  struct Place {
    WeightLayout layout;
    int64_t first = 0;  // first element in the buffer
  };

  at::Tensor buffer_;
  std::vector<Place> places_;           // of the groups
  std::vector<const void*> addresses_;  // of the weights
};

class CudnnLayer : public RecurrentLayer {
 public:
  explicit CudnnLayer(const RecurrentOptions& options);
  LayerKind kind() const override { return LayerKind::kCudnn; }

  // The parameters move into one new buffer.
  bool keeps_weights_in_one_piece() const override { return true; }
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
