// A token-by-token language model: embedding, recurrent layers, dropout, and an output layer over the vocabulary at
// every step. Tied, input and output share one table (Press and Wolf 2017). In training every batch starts from a zero
// state: no text is carried over.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "models/model.h"

namespace rnnlab {

struct LanguageModelResult {
  at::Tensor logits;     // (T, B, vocabulary)
  RecurrentState state;  // after the last token
};

class LanguageModel : public Model {
 public:
  LanguageModel(const ModelSettings& settings, LayerChoice layer, const DataShape& shape);

  // Batch inputs (T, B) int64 -> (T, B, vocabulary).
  at::Tensor forward(const Batch& batch) override;

  // tokens (T, B) int64, which go on from where `state` was left; an empty state begins a text.
  LanguageModelResult go_on(const at::Tensor& tokens, const RecurrentState& state);

 private:
  const at::Tensor& table() const;

  double output_dropout_;
  torch::nn::Embedding embedding_ =
      nullptr;  // "embedding"; none where tied, for the output layer's weights serve as the table
  torch::nn::Linear output_ = nullptr;  // "output"
};

}  // namespace rnnlab
