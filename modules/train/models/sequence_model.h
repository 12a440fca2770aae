// SPDX-License-Identifier: Apache-2.0
// The sequence classifier and regressor, which are the same network: convolutions over time if there are any
// (sequence_parts.h), recurrent layers, pooling of a sequence to one vector, dropout, dense layers, and an output layer
// without a non-linearity. They differ only in the loss. If each step has a target (DataShape::target_per_step), there
// is no pooling, and each step has an output. The categories among a step's features (DataShape::category_sizes) become
// vectors that are learned.
//
// A decoder (model.decoder) is a second network of recurrent layers behind the pooling. It starts with the final states
// of the first and has a step for each horizon, where it reads the vector of the pooling and what is known ahead of the
// horizon's row (DataShape::num_ahead, calendar_ahead), which the first network then does not read. The dense layers
// and the output layer follow at each of its steps. Source: Cho et al. 2014, "Learning phrase representations using RNN
// encoder-decoder", with known covariates in place of the outputs before.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <vector>

#include "train/models/model.h"
#include "train/models/sequence_parts.h"

namespace rnnlab {

class SequenceModel : public Model {
 public:
  SequenceModel(const ModelSettings& settings, LayerChoice layer, const DataShape& shape);

  // Maps batch inputs (T, B, F) to (B, model_outputs()), or to (T, B, model_outputs()) if each step has a target. Steps
  // beyond a sequence's length have no influence on the outputs of other steps.
  at::Tensor forward(const Batch& batch) override;

  Continuation continue_from(const RecurrentState& state, const at::Tensor& inputs) override;

 private:
  // Returns (B, D * H). Last: each direction's output after the last step that it reads, forward then reverse, as in
  // Keras's Bidirectional and PyTorch's h_n; the reverse direction ends at the first step.
  at::Tensor pool(const RecurrentResult& result, const at::Tensor& lengths);
  // Returns (T, B, numbers and vectors of categories) of inputs (T, B, F).
  at::Tensor step_vectors(const at::Tensor& inputs);
  // Returns (horizons, B, D * H), of the vectors (B, D * H) and the inputs (T, B, F).
  at::Tensor decode(const at::Tensor& pooled, const RecurrentState& states, const at::Tensor& inputs);
  // Returns the outputs of vectors (B, D * H) of whole sequences, or (T, B, D * H) of steps.
  at::Tensor outputs_of(at::Tensor values);
  // Returns (B, model_outputs()) of the decoder's outputs (horizons, B, numbers of one horizon).
  at::Tensor by_target(const at::Tensor& outputs) const;
  // Returns whether operations.h can compute the last dense layer and the output with own kernels on a GPU.
  bool can_end_by_own_kernel(const at::Tensor& values) const;
  at::Tensor end_by_own_kernel(const at::Tensor& values, double dropout);

  ModelSettings settings_;
  DataShape shape_;
  std::vector<torch::nn::Embedding> categories_;           // "category0", "category1" ...
  std::shared_ptr<ConvolutionFront> front_ = nullptr;      // "front"; null without model.front
  std::shared_ptr<AttentionPooling> attention_ = nullptr;  // "attention"; null with another pooling
  std::shared_ptr<RecurrentLayer> decoder_ = nullptr;      // "decoder"; null without model.decoder
  std::vector<torch::nn::Linear> dense_;                   // "dense0", "dense1" ...
  torch::nn::Linear output_ = nullptr;                     // "output"
};

}  // namespace rnnlab
