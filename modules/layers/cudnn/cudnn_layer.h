// SPDX-License-Identifier: Apache-2.0
// `cudnn`: calls cuDNN directly, with the algorithm that the options name or, with auto, the fastest of all measured
// ones (plan_cache.h). The layer supports CUDA only, with float32 (with TF32 if LibTorch allows TF32 for cuDNN),
// float64, bfloat16, float16, and autocast. Left out: activations other than tanh in LSTM and GRU, and the reset gate
// before the product. With dropout between layers the stack runs layer by layer (stacked_layer.h).
#pragma once

#include <vector>

#include "layers/cudnn/plan_cache.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {

// Holds the weights of a layer in the form that cuDNN needs: all in one buffer, each a view of it under its usual name
// and shape. Training writes through the views of adopted parameters, so that cuDNN gets the buffer itself and nothing
// is copied between steps.
class WeightSpace {
 public:
  WeightSpace() = default;  // holds nothing, and fits nothing

  // Makes the layout of the weights of all `groups` in order, on a CUDA device and in a type. One call of cuDNN
  // computes a group.
  WeightSpace(const std::vector<RecurrentOptions>& groups, const at::TensorOptions& where);

  // Moves `weights` into one new buffer.
  void adopt(const std::vector<at::Tensor>& weights);

  // Copies `weights` into one new buffer, and returns its views. free_copy() gives up this buffer; who needs it longer,
  // such as a backward pass, keeps it.
  std::vector<at::Tensor> take_copy(const std::vector<at::Tensor>& weights);
  void free_copy() { buffer_ = at::Tensor(); }

  // Returns whether the layout is that of the device and type of this weight.
  bool fits(const at::Tensor& weight) const;

  // Returns whether `weights` are the views that adopt() made; false if a view has been given different memory.
  bool holds(const std::vector<at::Tensor>& weights) const;

  const at::Tensor& buffer() const { return buffer_; }                // one dimension
  at::Tensor of_group(const at::Tensor& buffer, size_t group) const;  // its part of this buffer or of a converted one
  const WeightLayout& layout(size_t group) const { return places_[group].layout; }

 private:
  struct Place {
    WeightLayout layout;
    std::vector<std::vector<int64_t>> shapes;  // of its weights
    int64_t first = 0;                         // first element in the buffer
  };

  at::TensorOptions where_;
  int64_t num_elements_ = 0;
  at::Tensor buffer_;
  std::vector<Place> places_;           // of the groups
  std::vector<const void*> addresses_;  // of the weights
};

class CudnnLayer : public RecurrentLayer {
 public:
  explicit CudnnLayer(const RecurrentOptions& options);
  LayerKind kind() const override { return LayerKind::kCudnn; }

  // The parameters move into one new buffer.
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, bool non_blocking = false) override;

 private:
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                      StatesOf) override;
  RecurrentResult run_group(size_t group, const RnnOperands& operands, const at::Tensor& lengths);
  void prepare_space();
  void make_space();
  void gather_weights();

  std::vector<RecurrentOptions> groups_;
  std::vector<PlanCache> plans_;  // of the groups
  WeightSpace space_;             // on CUDA
};

}  // namespace rnnlab
