// SPDX-License-Identifier: Apache-2.0
#include "models/sequence_model.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>

#include "models/model_graph.h"
#include "models/operations.h"

namespace rnnlab {
namespace {

at::Tensor activated(const at::Tensor& values, Activation activation) {
  return activation == Activation::kRelu ? at::relu(values) : at::tanh(values);
}

// `hidden` is (L * D, B, H).
at::Tensor last_layer_state(const at::Tensor& hidden, bool bidirectional) {
  if (!bidirectional) return hidden[-1];
  return at::cat({hidden[-2], hidden[-1]}, -1);
}

}  // namespace

SequenceModel::SequenceModel(const ModelSettings& settings, LayerChoice layer, const DataShape& shape)
    : Model(layer, recurrent_options(settings, shape.input_size)),
      settings_(settings),
      is_per_step_(shape.target_per_step) {
  int64_t width = settings.hidden_size * recurrent().options().num_directions();
  for (const int64_t size : settings.dense) {
    dense_.emplace_back(register_module("dense" + std::to_string(dense_.size()), torch::nn::Linear(width, size)));
    width = size;
  }
  output_ = register_module("output", torch::nn::Linear(width, shape.num_outputs));
}

at::Tensor SequenceModel::forward(const Batch& batch) {
  const auto result = recurrent().forward(batch.inputs, {}, batch.lengths);
  auto values = dropped(is_per_step_ ? result.output : pool(result, batch.lengths), settings_.output_dropout);
  const bool has_own_end = can_end_by_own_kernel();
  for (auto& layer : dense_) {
    if (has_own_end && layer.ptr() == dense_.back().ptr())
      return dense_end(values, layer, is_training() ? settings_.dense_dropout : 0.0, output_);
    values = dropped(activated(layer(values), settings_.dense_activation), settings_.dense_dropout);
  }
  return output_(values);
}

bool SequenceModel::can_end_by_own_kernel() const {
  return !is_per_step_ && !dense_.empty() && settings_.dense_activation == Activation::kRelu &&
         can_run_dense_head(dense_.back()->bias, output_->weight);
}

at::Tensor SequenceModel::pool(const RecurrentResult& result, const at::Tensor& lengths) const {
  if (settings_.pooling == Pooling::kMean) return mean_over_steps(result.output, lengths);
  const bool is_last_output = !lengths.defined() && !settings_.bidirectional;
  if (is_last_output && !recurrent().has_own_final_states()) return result.output[-1];
  return last_layer_state(result.state.hidden, settings_.bidirectional);
}

namespace {

void draw_sequence_model(ModelGraph& graph, const ModelSettings& settings, const DataShape& shape) {
  graph.add("sequences", "Input", {shape.sequence_length, kAnyBatchSize, shape.input_size});
  graph.add_recurrent(settings);
  if (!shape.target_per_step)
    graph.add("pooling", settings.pooling == Pooling::kMean ? "MeanOverSteps" : "LastStep",
              {kAnyBatchSize, graph.width()});
  graph.add_dropout("output_dropout", settings.output_dropout);
  graph.add_dense_layers(settings);
  graph.add_linear("output", shape.num_outputs);
}

std::shared_ptr<Model> make_sequence_model(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                           ConvolutionKind /*convolution*/) {
  return std::make_shared<SequenceModel>(settings, layer, shape);
}

// Targets of 0 and 1 fit both models.
ModelInfo sequence_info(std::string_view description, Task task) {
  return {.description = description,
          .input = ModelInput::kVectors,
          .tasks = {task, Task::kBinary},
          .keys = recurrent_keys_and({"pooling", "dense", "dense_activation", "dense_dropout"}),
          .draw = draw_sequence_model,
          .num_kept_values = num_recurrent_values,
          .make = make_sequence_model};
}

}  // namespace

const ModelInfo& sequence_classifier_info() {
  static const ModelInfo info = sequence_info("classes of whole sequences, or of each step", Task::kClassification);
  return info;
}

const ModelInfo& sequence_regressor_info() {
  static const ModelInfo info = sequence_info("numbers for whole sequences, or for each step", Task::kRegression);
  return info;
}

}  // namespace rnnlab
