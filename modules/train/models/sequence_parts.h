// SPDX-License-Identifier: Apache-2.0
// Parts of sequence models before and after the recurrent layers: convolutions over the steps (model.front), and a mean
// over the steps whose weights are learned (model.pooling: attention). Each part's outputs for a sequence do not depend
// on the steps beyond its length, nor on the other sequences of the batch.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "train/models/model_graph.h"
#include "train/models/model_settings.h"

namespace rnnlab {

// One-dimensional convolutions over time, each followed by a ReLU. Output j of a convolution reads the block of
// `stride` steps from step j * stride on and the kernel_size - stride steps before that block, with zeros for steps
// before the first and beyond the last one. So no output depends on steps after its block, and with a stride of 1 the
// convolution is causal (van den Oord et al. 2016).
class ConvolutionFront : public torch::nn::Module {
 public:
  ConvolutionFront(const ModelSettings& settings, int64_t input_size);

  // Maps steps (T, B, I) and lengths, (B) int64 on the CPU or undefined, to steps (T', B, C), contiguous, and lengths.
  std::pair<at::Tensor, at::Tensor> forward(at::Tensor steps, at::Tensor lengths);

 private:
  int64_t stride_;
  std::vector<torch::nn::Conv1d> convolutions_;  // "convolution0", "convolution1" ...
};

// Returns the number of outputs of a convolution with this stride.
inline int64_t blocks_of(int64_t num_steps, int64_t stride) { return (num_steps + stride - 1) / stride; }

// A weighted mean of a sequence's outputs h_t, with the weights softmax_t(u . tanh(W h_t + b)). Source: Yang et al.
// 2016, "Hierarchical attention networks", (5) to (7).
class AttentionPooling : public torch::nn::Module {
 public:
  explicit AttentionPooling(int64_t width);

  // Returns (B, W) of outputs (T, B, W); lengths as above.
  at::Tensor forward(const at::Tensor& outputs, const at::Tensor& lengths);

  // Returns the weights (T, B), each column with the sum 1, in float32 for outputs in 16 bits.
  at::Tensor weights(const at::Tensor& outputs, const at::Tensor& lengths);

 private:
  torch::nn::Linear hidden_ = nullptr;  // "hidden"
  torch::nn::Linear score_ = nullptr;   // "score", without a bias, which the softmax would cancel
};

// Adds the parts to the graph, behind its last operation.
void draw_front(ModelGraph& graph, const ModelSettings& settings);
void draw_attention(ModelGraph& graph);

}  // namespace rnnlab
