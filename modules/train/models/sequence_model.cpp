// SPDX-License-Identifier: Apache-2.0
#include "train/models/sequence_model.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/numbers.h"
#include "layers/cells/cell.h"
#include "train/models/model_graph.h"
#include "train/models/operations.h"
#include "train/models/output_layer.h"

namespace rnnlab {

int64_t category_vector_size(const ModelSettings& settings, int64_t num_values) {
  constexpr int64_t kMost = 50;
  return settings.embedding_size.value_or(std::min(kMost, (num_values + 1) / 2));
}

namespace {

// Returns the length of a step's vector before the convolutions. With a decoder, which reads what is known ahead, the
// steps are without it.
int64_t step_numbers(const ModelSettings& settings, const DataShape& shape) {
  int64_t size = shape.num_numbers() - (settings.decoder ? shape.numbers_ahead() : 0);
  for (const int64_t num_values : shape.category_sizes) size += category_vector_size(settings, num_values);
  return size;
}

int64_t output_width(const ModelSettings& settings) { return settings.hidden_size * (settings.bidirectional ? 2 : 1); }

RecurrentOptions decoder_options(const ModelSettings& settings, const DataShape& shape) {
  return recurrent_options(settings, output_width(settings) + shape.num_ahead + shape.calendar_ahead.num_phases);
}

int64_t outputs_of_step(const ModelSettings& settings, const DataShape& shape) {
  return settings.decoder ? shape.model_outputs() / shape.num_horizons : shape.model_outputs();
}

// `hidden` is (L * D, B, H). The gradient of squeeze() is a view, and that of an index a copy into zeros.
at::Tensor last_layer_state(const at::Tensor& hidden, bool bidirectional) {
  if (!bidirectional) return hidden.size(0) == 1 ? hidden.squeeze(0) : hidden[-1];
  return at::cat({hidden[-2], hidden[-1]}, -1);
}

// Returns (horizons, B, phases) of inputs (T, B, F).
at::Tensor calendar_ahead(const CalendarAhead& ahead, const at::Tensor& inputs) {
  std::vector<at::Tensor> phases;
  for (const auto& [step, number] : ahead.places)
    phases.push_back(inputs.select(0, step).narrow(1, number, ahead.num_phases));
  return at::stack(phases);
}

}  // namespace

int64_t step_vector_size(const ModelSettings& settings, const DataShape& shape) {
  return settings.front.empty() ? step_numbers(settings, shape) : settings.front.back();
}

SequenceModel::SequenceModel(const ModelSettings& settings, LayerChoice layer, const DataShape& shape)
    : Model(layer, recurrent_options(settings, step_vector_size(settings, shape))), settings_(settings), shape_(shape) {
  for (const int64_t size : shape.category_sizes)
    categories_.emplace_back(register_module("category" + std::to_string(categories_.size()),
                                             torch::nn::Embedding(size, category_vector_size(settings, size))));
  if (!settings.front.empty())
    front_ = register_module("front", std::make_shared<ConvolutionFront>(settings, step_numbers(settings, shape)));
  int64_t width = output_width(settings);
  if (settings.pooling == Pooling::kAttention)
    attention_ = register_module("attention", std::make_shared<AttentionPooling>(width));
  if (settings.decoder) decoder_ = add_recurrent("decoder", layer, decoder_options(settings, shape));
  for (const int64_t size : settings.dense) {
    dense_.emplace_back(register_module("dense" + std::to_string(dense_.size()), torch::nn::Linear(width, size)));
    width = size;
  }
  output_ = register_module("output", torch::nn::Linear(width, outputs_of_step(settings, shape)));
}

at::Tensor SequenceModel::forward(const Batch& batch) {
  at::Tensor steps = step_vectors(batch.inputs), lengths = batch.lengths;
  if (front_) std::tie(steps, lengths) = front_->forward(steps, lengths);
  const RecurrentResult result = recurrent().forward(steps, {}, lengths);
  if (shape_.target_per_step) return outputs_of(result.output);
  const at::Tensor pooled = pool(result, lengths);
  return decoder_ ? by_target(outputs_of(decode(pooled, result.state, batch.inputs))) : outputs_of(pooled);
}

at::Tensor SequenceModel::decode(const at::Tensor& pooled, const RecurrentState& states, const at::Tensor& inputs) {
  std::vector<at::Tensor> vectors = {pooled.unsqueeze(0).expand({shape_.num_horizons, -1, -1})};
  if (shape_.num_ahead > 0) {
    const at::Tensor ahead = inputs[-1].narrow(1, shape_.first_ahead, shape_.known_numbers());
    vectors.push_back(
        ahead.view({-1, shape_.num_ahead, shape_.num_horizons}).permute({2, 0, 1}).to(pooled.scalar_type()));
  }
  if (shape_.calendar_ahead.num_phases > 0)
    vectors.push_back(calendar_ahead(shape_.calendar_ahead, inputs).to(pooled.scalar_type()));
  return decoder_->forward(at::cat(vectors, 2), states).output;
}

Continuation SequenceModel::continue_from(const RecurrentState& state, const at::Tensor& inputs) {
  at::Tensor steps = step_vectors(inputs);
  if (front_) steps = front_->forward(steps, {}).first;
  const RecurrentResult result = recurrent().forward(steps, state);
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

at::Tensor SequenceModel::by_target(const at::Tensor& outputs) const {
  const int64_t numbers = shape_.numbers_per_target, num_columns = outputs.size(2) / numbers;
  return outputs.view({shape_.num_horizons, -1, num_columns, numbers}).permute({1, 2, 0, 3}).flatten(1);
}

// The vector of an unknown value is 0, because training did not see it.
at::Tensor SequenceModel::step_vectors(const at::Tensor& inputs) {
  const int64_t without = decoder_ ? shape_.numbers_ahead() : 0;
  if (categories_.empty() && without == 0) return inputs;
  const int64_t num_numbers = shape_.num_numbers();
  std::vector<at::Tensor> vectors = {inputs.narrow(2, 0, num_numbers)};
  if (without > 0) {
    const int64_t after = shape_.first_ahead + without;
    vectors = {inputs.narrow(2, 0, shape_.first_ahead), inputs.narrow(2, after, num_numbers - after)};
  }
  for (size_t i = 0; i < categories_.size(); ++i) {
    const at::Tensor numbers = inputs.select(2, num_numbers + static_cast<int64_t>(i)).to(at::kLong);
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

at::Tensor SequenceModel::pool(const RecurrentResult& result, const at::Tensor& lengths) {
  const bool is_last_output = !lengths.defined() && !settings_.bidirectional;
  switch (settings_.pooling) {
    case Pooling::kMean:
      return mean_over_steps(result.output, lengths);
    case Pooling::kAttention:
      return attention_->forward(result.output, lengths);
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
  graph.add("step_vectors", "Concat", {shape.sequence_length, kAnyBatchSize, step_numbers(settings, shape)}, lookups);
}

const char* operation_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return "MeanOverSteps";
    case Pooling::kAttention:
      return "WeightedMean";
    case Pooling::kLast:
      return "LastStep";
  }
  fail_invariant("a listed pooling", __FILE__, __LINE__, "operation_of does not know the pooling");
}

void draw_pooling(ModelGraph& graph, const ModelSettings& settings) {
  if (settings.pooling == Pooling::kAttention) draw_attention(graph);
  graph.add("pooling", operation_of(settings.pooling), {kAnyBatchSize, graph.width()});
}

void draw_decoder(ModelGraph& graph, const ModelSettings& settings, const DataShape& shape, const std::string& states) {
  const int64_t width = decoder_options(settings, shape).input_size;
  graph.add("decoder_inputs", "Concat", {shape.num_horizons, kAnyBatchSize, width}, {"sequences"});
  graph.add_recurrent(settings, "decoder", {states});
}

void draw_sequence_model(ModelGraph& graph, const ModelSettings& settings, const DataShape& shape) {
  graph.add("sequences", "Input", {shape.sequence_length, kAnyBatchSize, shape.input_size});
  if (!shape.category_sizes.empty() || step_numbers(settings, shape) != shape.input_size)
    draw_step_vectors(graph, settings, shape);
  draw_front(graph, settings);
  graph.add_recurrent(settings);
  const std::string states = graph.last();
  if (!shape.target_per_step) draw_pooling(graph, settings);
  if (settings.decoder) draw_decoder(graph, settings, shape, states);
  graph.add_dropout("output_dropout", settings.output_dropout);
  graph.add_dense_layers(settings);
  graph.add_linear("output", outputs_of_step(settings, shape));
  if (settings.decoder) graph.add("by_target", "Transpose", {kAnyBatchSize, shape.model_outputs()});
}

// The output of every convolution, padded for the next one or in the order of the recurrent layers; the outputs of
// these layers; the attention's tanh; and the decoder's inputs and outputs.
int64_t num_sequence_values(const ModelSettings& settings, const DataShape& shape, int64_t num_steps,
                            int64_t num_samples) {
  int64_t per_sample = 0;
  const auto add = [&](int64_t steps, int64_t width) {
    per_sample = saturating_add(per_sample, saturating_multiply(steps, width));
  };
  for (const int64_t size : settings.front) {
    num_steps = blocks_of(num_steps, settings.front_stride);
    add(num_steps, size);
  }
  if (settings.pooling == Pooling::kAttention) add(num_steps, output_width(settings));
  if (settings.decoder) add(shape.num_horizons, decoder_options(settings, shape).input_size);
  const auto recurrent = [&](int64_t steps) { return num_recurrent_values(settings, shape, steps, num_samples); };
  return saturating_add(saturating_multiply(per_sample, num_samples),
                        saturating_add(recurrent(num_steps), settings.decoder ? recurrent(shape.num_horizons) : 0));
}

std::vector<Contradiction> sequence_misfits(const ModelSettings& settings, const DataShape& shape) {
  std::vector<Contradiction> found;
  if (shape.target_per_step && settings.pooling != Pooling::kLast)
    found.push_back({{"model.pooling", "data.target_per"},
                     "each step has an output of its own, so nothing is pooled: remove pooling"});
  if (shape.target_per_step && settings.front_stride > 1)
    found.push_back({{"model.front_stride", "data.target_per"},
                     "each step has an output of its own, and a stride leaves steps out: use front_stride: 1"});
  if (settings.decoder && (shape.target_per_step || shape.task == Task::kClassification))
    found.push_back(
        {{"model.decoder", "data.target_per"},
         "a decoder has one step per horizon of a forecast, but these data are not a forecast: remove decoder"});
  else if (settings.decoder && shape.num_horizons == 1)
    found.push_back(
        {{"model.decoder", "data.horizon"},
         "a decoder has a step for each horizon of a forecast, and these data have one: set data.horizon of "
         "a CSV file with a window to several, such as 1..7, or remove decoder"});
  if (!settings.decoder && shape.calendar_ahead.num_phases > 0)
    found.push_back({{"data.calendar_ahead", "model.decoder"},
                     "only a decoder reads the calendar of the rows to be forecast: set model.decoder: true, or remove "
                     "calendar_ahead"});
  return found;
}

std::string why_not_continued(const ModelSettings& settings, const DataShape& shape) {
  if (settings.bidirectional)
    return "model.bidirectional: true also reads each sequence from its end, which has not arrived yet";
  if (!shape.target_per_step && settings.pooling != Pooling::kLast)
    return fmt::format("model.pooling: {} needs all steps of a sequence, and a state has only the last one",
                       config::name_of(settings.pooling));
  if (!settings.front.empty() && settings.front_kernel_size > 1)
    return fmt::format("model.front reads {} steps for each output, and a state has only the last one",
                       settings.front_kernel_size);
  if (settings.decoder)
    return "model.decoder: true forecasts from the last step of a window, with what is known ahead of it";
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
          .keys = recurrent_keys_and({"embedding_size", "front", "front_kernel_size", "front_stride", "pooling",
                                      "decoder", "dense", "dense_activation", "dense_dropout"}),
          .misfits = sequence_misfits,
          .draw = draw_sequence_model,
          .num_kept_values = num_sequence_values,
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
