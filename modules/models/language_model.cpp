#include "models/language_model.h"

#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>

namespace rnnlab {

LanguageModel::LanguageModel(const ModelSettings& settings, LayerChoice layer, const DataShape& shape)
    : Model(layer, recurrent_options(settings, settings.effective_embedding_size())),
      output_dropout_(settings.output_dropout) {
  if (!settings.tied) {
    embedding_ =
        register_module("embedding", torch::nn::Embedding(shape.num_outputs, settings.effective_embedding_size()));
  }
  output_ = register_module("output", torch::nn::Linear(settings.hidden_size, shape.num_outputs));
}

const at::Tensor& LanguageModel::table() const { return embedding_.is_empty() ? output_->weight : embedding_->weight; }

at::Tensor LanguageModel::forward(const Batch& batch) {
  auto values = recurrent().forward(at::embedding(table(), batch.inputs), {}, batch.lengths).output;
  if (output_dropout_ > 0.0 && is_training()) values = at::dropout(values, output_dropout_, /*train=*/true);
  return output_(values);
}

}  // namespace rnnlab
