// SPDX-License-Identifier: Apache-2.0
#include "train/models/sequence_model.h"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>

#include "train/models/model_graph.h"
#include "train/models/operations.h"
#include "train/models/output_layer.h"

namespace rnnlab {

int64_t category_vector_size(const ModelSettings& settings, int64_t num_values) {
  constexpr int64_t kMost = 50;
  return settings.embedding_size.value_or(std::min(kMost, (num_values + 1) / 2));
}

int64_t step_vector_size(const ModelSettings& settings, const DataShape& shape) {
  int64_t size = shape.num_numbers();
  for (const int64_t num_values : shape.category_sizes) size += category_vector_size(settings, num_values);
  return size;
}

namespace {

// `hidden` is (L * D, B, H). The gradient of squeeze() is a view, and that of an index a copy into zeros.
at::Tensor last_layer_state(const at::Tensor& hidden, bool bidirectional) {
  if (!bidirectional) return hidden.size(0) == 1 ? hidden.squeeze(0) : hidden[-1];
  return at::cat({hidden[-2], hidden[-1]}, -1);
}

}  // namespace

SequenceModel::SequenceModel(const ModelSettings& settings, LayerChoice layer, const DataShape& shape)
    : Model(layer, recurrent_options(settings, step_vector_size(settings, shape))),
      settings_(settings),
      is_per_step_(shape.target_per_step),
      num_numbers_(shape.num_numbers()) {
  for (const int64_t size : shape.category_sizes)
    categories_.emplace_back(register_module("category" + std::to_string(categories_.size()),
                                             torch::nn::Embedding(size, category_vector_size(settings, size))));
  int64_t width = settings.hidden_size * recurrent().options().num_directions();
  for (const int64_t size : settings.dense) {
    dense_.emplace_back(register_module("dense" + std::to_string(dense_.size()), torch::nn::Linear(width, size)));
    width = size;
  }
  output_ = register_module("output", torch::nn::Linear(width, shape.model_outputs()));
}

at::Tensor SequenceModel::forward(const Batch& batch) {
  const auto result = recurrent().forward(step_vectors(batch.inputs), {}, batch.lengths);
  return outputs_of(is_per_step_ ? result.output : pool(result, batch.lengths));
}

Continuation SequenceModel::continue_from(const RecurrentState& state, const at::Tensor& inputs) {
  const RecurrentResult result = recurrent().forward(step_vectors(inputs), state);
  return {outputs_of(result.output), result.state};
}

at::Tensor SequenceModel::outputs_of(at::Tensor values) {
  double dropout = settings_.output_dropout;  // of the values, before the next layer reads them
  const bool has_own_end = can_end_by_own_kernel(values);
  for (auto& layer : dense_) {
    if (has_own_end && layer.ptr() == dense_.back().ptr()) return end_by_own_kernel(values, dropout);
    values = activate(settings_.dense_activation, layer(dropped(values, dropout)));
    dropout = settings_.dense_dropout;
  }
  return output_layer(dropped(values, dropout), output_);
}

// The vector of an unknown value is 0, because training did not see it.
at::Tensor SequenceModel::step_vectors(const at::Tensor& inputs) {
  if (categories_.empty()) return inputs;
  std::vector<at::Tensor> vectors = {inputs.narrow(2, 0, num_numbers_)};
  for (size_t i = 0; i < categories_.size(); ++i) {
    const at::Tensor numbers = inputs.select(2, num_numbers_ + static_cast<int64_t>(i)).to(at::kLong);
    vectors.push_back(categories_[i](numbers) * numbers.gt(0).unsqueeze(2));
  }
  return at::cat(vectors, 2);
}

bool SequenceModel::can_end_by_own_kernel(const at::Tensor& values) const {
  return values.dim() == 2 && !dense_.empty() && settings_.dense_activation == Activation::kRelu &&
         can_run_dense_head(dense_.back()->bias, output_->weight);
}

at::Tensor SequenceModel::end_by_own_kernel(const at::Tensor& values, double dropout) {
  const EndDropout in_training = {.values = dropout, .hidden = settings_.dense_dropout};
  return dense_end(values, dense_.back(), output_, is_training() ? in_training : EndDropout());
}

at::Tensor SequenceModel::pool(const RecurrentResult& result, const at::Tensor& lengths) const {
  const bool is_last_output = !lengths.defined() && !settings_.bidirectional;
  switch (settings_.pooling) {
    case Pooling::kMean:
      return mean_over_steps(result.output, lengths);
    case Pooling::kLast:
      if (is_last_output && !recurrent().has_own_final_states()) return result.output[-1];
      return last_layer_state(result.state.hidden, settings_.bidirectional);
  }
  fail_invariant("a listed pooling", __FILE__, __LINE__, "pool does not know the pooling");
}

namespace {

// Each lookup reads the sequences, and their numbers are put before the vectors.
void draw_step_vectors(ModelGraph& graph, const ModelSettings& settings, const DataShape& shape) {
  std::vector<std::string> lookups;
  for (size_t i = 0; i < shape.category_sizes.size(); ++i) {
    const int64_t num_values = shape.category_sizes[i], size = category_vector_size(settings, num_values);
    const std::string name = "category" + std::to_string(i);
    const std::string weight = graph.add_parameter(name, name + ".weight", {num_values, size});
    lookups.push_back(graph.add_branch(name + "/lookup", "Embedding", {shape.sequence_length, kAnyBatchSize, size},
                                       {"sequences", weight}));
  }
  graph.add("step_vectors", "Concat", {shape.sequence_length, kAnyBatchSize, step_vector_size(settings, shape)},
            lookups);
}

const char* operation_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return "MeanOverSteps";
    case Pooling::kLast:
      return "LastStep";
  }
  fail_invariant("a listed pooling", __FILE__, __LINE__, "operation_of does not know the pooling");
}

void draw_sequence_model(ModelGraph& graph, const ModelSettings& settings, const DataShape& shape) {
  graph.add("sequences", "Input", {shape.sequence_length, kAnyBatchSize, shape.input_size});
  if (!shape.category_sizes.empty()) draw_step_vectors(graph, settings, shape);
  graph.add_recurrent(settings);
  if (!shape.target_per_step) graph.add("pooling", operation_of(settings.pooling), {kAnyBatchSize, graph.width()});
  graph.add_dropout("output_dropout", settings.output_dropout);
  graph.add_dense_layers(settings);
  graph.add_linear("output", shape.model_outputs());
}

std::string why_not_continued(const ModelSettings& settings, const DataShape& shape) {
  if (settings.bidirectional)
    return "model.bidirectional: true also reads each sequence from its end, which has not arrived yet";
  if (!shape.target_per_step && settings.pooling != Pooling::kLast)
    return fmt::format("model.pooling: {} needs all steps of a sequence, and a state has only the last one",
                       config::name_of(settings.pooling));
  return "";
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
          .keys = recurrent_keys_and({"embedding_size", "pooling", "dense", "dense_activation", "dense_dropout"}),
          .draw = draw_sequence_model,
          .num_kept_values = num_recurrent_values,
          .make = make_sequence_model,
          .why_not_continued = why_not_continued};
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
