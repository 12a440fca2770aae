// SPDX-License-Identifier: Apache-2.0
// A language model over tokens: embedding, recurrent layers, dropout, and an output layer over the vocabulary at every
// step. If it is tied, input and output share one weight matrix (Press and Wolf 2017). In training every batch starts
// from a zero state, so text before the batch has no influence.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "train/models/model.h"

namespace rnnlab {

class LanguageModel : public Model {
 public:
  LanguageModel(const ModelSettings& settings, LayerChoice layer, const DataShape& shape);

  // Maps batch inputs (T, B) int64 to (T, B, vocabulary).
  at::Tensor forward(const Batch& batch) override;

  bool can_carry_states() const override { return true; }

  Continuation continue_from(const RecurrentState& state, const at::Tensor& tokens) override;

 private:
  const at::Tensor& embedding() const;

  double output_dropout_;
  // "embedding"; empty if the model is tied, because then the output layer's weights are the embedding.
  torch::nn::Embedding embedding_ = nullptr;
  torch::nn::Linear output_ = nullptr;  // "output"
};

}  // namespace rnnlab
