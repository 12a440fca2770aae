// SPDX-License-Identifier: Apache-2.0
#include "train/models/language_model.h"

#include "train/models/model_graph.h"
#include "train/models/output_layer.h"

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

const at::Tensor& LanguageModel::embedding() const {
  return embedding_.is_empty() ? output_->weight : embedding_->weight;
}

at::Tensor LanguageModel::forward(const Batch& batch) {
  const auto result = recurrent().forward_tokens(embedding(), batch.inputs, initial_states(), batch.lengths);
  store_states(result.state);
  return output_layer(dropped(result.output, output_dropout_), output_);
}

Continuation LanguageModel::continue_from(const RecurrentState& state, const at::Tensor& tokens) {
  const RecurrentResult result = recurrent().forward_tokens(embedding(), tokens, state);
  return {output_layer(dropped(result.output, output_dropout_), output_), result.state};
}

namespace {

void check_language_model(const ModelSettings& m, config::Checker& checker) {
  if (m.bidirectional)
    checker.complain(
        {"bidirectional", "kind"},
        "a bidirectional language model would see the tokens that it has to predict: use bidirectional: false");
  if (m.tied && m.effective_embedding_size() != m.hidden_size) {
    checker.complain({"tied", "embedding_size", "hidden_size"},
                     "tied weights need an embedding_size equal to hidden_size");
  }
}

void draw_language_model(ModelGraph& graph, const ModelSettings& settings, const DataShape& shape) {
  const int64_t size = settings.effective_embedding_size();
  const std::string weight = settings.tied ? "output.weight" : "embedding.weight";
  graph.add("tokens", "Input", {shape.sequence_length, kAnyBatchSize});
  graph.add("embedding/lookup", "Embedding", {shape.sequence_length, kAnyBatchSize, size},
            {graph.add_parameter("embedding", weight, {shape.num_outputs, size})});
  graph.add_recurrent(settings);
  graph.add_dropout("output_dropout", settings.output_dropout);
  graph.add_linear("output", shape.num_outputs, settings.tied ? "embedding" : "");
}

std::shared_ptr<Model> make_language_model(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                           ConvolutionKind /*convolution*/) {
  return std::make_shared<LanguageModel>(settings, layer, shape);
}

}  // namespace

const ModelInfo& language_model_info() {
  static const ModelInfo info = {
      .description = "the next token of a text",
      .input = ModelInput::kTokens,
      .tasks = {Task::kLanguageModel},
      .keys = recurrent_keys_and({"embedding_size", "tied"}),
      .check = check_language_model,
      .draw = draw_language_model,
      .num_kept_values = num_recurrent_values,
      .make = make_language_model,
      .why_not_continued = [](const ModelSettings&, const DataShape&) { return std::string(); }};
  return info;
}

}  // namespace rnnlab
