#include "models/language_model.h"

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
  const auto result = recurrent().forward_tokens(table(), batch.inputs, {}, batch.lengths);
  return output_(dropped(result.output, output_dropout_));
}

LanguageModelResult LanguageModel::go_on(const at::Tensor& tokens, const RecurrentState& state) {
  const RecurrentResult result = recurrent().forward_tokens(table(), tokens, state);
  return {output_(dropped(result.output, output_dropout_)), result.state};
}

}  // namespace rnnlab
